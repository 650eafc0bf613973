// The one error type of the core, and `fail`, which builds it. A shape rule says what is wrong and the rule;
// the dispatcher adds the op's name and the shapes of its inputs.
#pragma once

#include <exception>
#include <string>
#include <type_traits>
#include <vector>

#include "omnigrad/dtype.h"
#include "omnigrad/small_vec.h"

namespace omnigrad {

// What a program can branch on; the names reach JavaScript as `error.code`.
enum class Code { shape, dtype, option, index, argument, disposed, graph, memory, state, numeric, crashed };
const char* name_of(Code code);

class Error : public std::exception {
 public:
  Error(Code code, std::string message) : code(code), message(std::move(message)) {}
  const char* what() const noexcept override { return message.c_str(); }

  Code code;
  std::string message;       // "op: what is wrong, the rule; x [2, 3]" once the dispatcher has seen it
  std::string op;            // empty until the dispatcher has seen it
  std::vector<Dims> shapes;  // of the op's inputs
};

std::string text(double x);
std::string text(const Dims& dims);  // [2, 3]

// A piece of a message. Its text is made only when the error is thrown, out of line: checks are everywhere.
class Part {
 public:
  Part(const char* s) : kind_(Kind::text), text_(s) {}
  Part(const std::string& s) : Part(s.c_str()) {}
  Part(DType t) : Part(name_of(t)) {}
  Part(bool b) : Part(b ? "true" : "false") {}
  Part(double x) : kind_(Kind::number), number_(x) {}
  Part(const Dims& d) : kind_(Kind::dims), dims_(&d) {}
  template <class I>
    requires(std::is_integral_v<I> && !std::is_same_v<I, bool>)
  Part(I i) : kind_(Kind::integer), integer_(static_cast<int64_t>(i)) {}
  std::string string() const;

 private:
  enum class Kind : uint8_t { text, number, integer, dims } kind_;
  union {
    const char* text_;
    double number_;
    int64_t integer_;
    const Dims* dims_;
  };
};

[[noreturn]] void fail_with(Code code, const Part* parts, size_t count);

template <class... Parts>
[[noreturn]] void fail(Code code, const Parts&... parts) {
  const Part list[] = {parts...};
  fail_with(code, list, sizeof...(parts));
}
// Most mistakes are of shape.
template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  fail(Code::shape, parts...);
}

}  // namespace omnigrad
