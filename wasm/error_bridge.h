// Errors on their way to JavaScript: no C++ exception leaves a guarded function, which gives a status and
// keeps what lastError() tells.
#pragma once

#include <cstdlib>
#include <exception>
#include <new>
#include <string>

#include "omnigrad/error.h"
#include "parallel/parallel.h"

namespace omnigrad::binding {

inline std::string last_error;  // JSON: {op, code, message, shapes}

inline std::string escape(const std::string& s) {
  std::string out;
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

inline void describe(const Error& e) {
  last_error = "{\"op\":\"" + escape(e.op) + "\",\"code\":\"" + name_of(e.code) + "\",\"message\":\"" +
               escape(e.message) + "\",\"shapes\":[";
  for (size_t i = 0; i < e.shapes.size(); ++i) last_error += (i ? "," : "") + text(e.shapes[i]);
  last_error += "]}";
}

enum Status { kOk = 0, kError = 1, kOutOfMemory = 2 };

// Held back for the error path: when the heap is full, telling so takes memory too.
class Reserve {
 public:
  void give_back() {
    std::free(block_);
    block_ = nullptr;
  }
  void take() {
    if (!block_) block_ = std::malloc(1 << 16);
  }

 private:
  void* block_ = std::malloc(1 << 16);
};
inline Reserve reserve;

// What a lost thread leaves behind is no result, of this call or of a later one.
inline void refuse_after_loss() {
  if (parallel::lost()) fail(Code::crashed, "a thread of the pool was lost");
}

template <class F>
inline int guarded(const F& f) {
  try {
    refuse_after_loss();
    f();
    refuse_after_loss();
    reserve.take();
    return kOk;
  } catch (const Error& e) {
    if (e.code == Code::memory) reserve.give_back();
    describe(e);
    return e.code == Code::memory ? kOutOfMemory : kError;
  } catch (const std::bad_alloc&) {
    reserve.give_back();
    describe(Error(Code::memory, "out of memory"));
    return kOutOfMemory;
  } catch (const std::exception& e) {
    describe(Error(Code::state, e.what()));
    return kError;
  }
}

// `f` gives a handle; a negative status where it failed.
template <class F>
int answered(const F& f) {
  int handle = 0;
  const int status = guarded([&] { handle = f(); });
  return status == kOk ? handle : -status;
}

}  // namespace omnigrad::binding
