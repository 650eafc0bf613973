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
enum class Code { shape, dtype, option, index, argument, disposed, graph, memory, state, numeric };
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

inline std::string text(const std::string& s) { return s; }
inline std::string text(const char* s) { return s; }
inline std::string text(DType t) { return name_of(t); }
inline std::string text(bool b) { return b ? "true" : "false"; }
std::string text(double x);
std::string text(const Dims& dims);  // [2, 3]
template <class I>
  requires(std::is_integral_v<I>)
std::string text(I i) {
  return std::to_string(i);
}

template <class... Parts>
[[noreturn]] void fail(Code code, const Parts&... parts) {
  throw Error(code, (text(parts) + ... + std::string()));
}
// Most mistakes are of shape.
template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  fail(Code::shape, parts...);
}

}  // namespace omnigrad
