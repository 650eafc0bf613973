// What an op takes and gives, said by a Schema while the compiler runs. What is made of it at run time is
// op.h's OpInfo.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>

#include "omnigrad/small_vec.h"

namespace omnigrad {

// Padding as a user may give it: one number, one per axis, or [before, after] per axis.
struct Padding {
  Dims values;  // pairs flattened when `pairs`
  bool pairs = false;
};

// An option's value on its way in or out, typed by its schema entry. monostate: absent.
using OptionValue = std::variant<std::monostate, bool, int64_t, double, std::string, Dims, Padding>;
enum class OptionType { boolean, integer, number, choice, text, dims, padding };

// A line of documentation. The module carries no prose, which would be a tenth of it, but a hash of each line
// (FNV-1a, folded to 16 bits; 0: no text): scripts/lib/schema.mjs finds the text among the string literals of
// core/src/ops.
class Doc {
 public:
  consteval Doc(const char* text) {
    if (!*text) return;
    uint32_t hash = 2166136261u;
    for (; *text; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 16777619u;
    hash = (hash ^ hash >> 16) & 0xffff;
    hash_ = static_cast<uint16_t>(hash ? hash : 1);
  }
  constexpr uint16_t hash() const { return hash_; }

 private:
  uint16_t hash_ = 0;
};

// Which dtypes an input takes. Inputs of kind floating, number and any share one dtype within their kind.
enum class Kind {
  floating,  // float32, float64
  number,    // floating or integer
  any,       // every dtype but the halves
  index,     // int32, int64, uint8
  boolean,   // bool
  free,      // every dtype but the halves, whatever the others have
  storage,   // every dtype, float16 and bfloat16 included
};
const char* name_of(Kind kind);

// How a C++ type is an option: its number in the schema's text.
template <class T>
struct OptionTag;
template <>
struct OptionTag<bool> : std::integral_constant<OptionType, OptionType::boolean> {};
template <>
struct OptionTag<int64_t> : std::integral_constant<OptionType, OptionType::integer> {};
template <>
struct OptionTag<double> : std::integral_constant<OptionType, OptionType::number> {};
template <>
struct OptionTag<std::string> : std::integral_constant<OptionType, OptionType::text> {};
template <>
struct OptionTag<Dims> : std::integral_constant<OptionType, OptionType::dims> {};
template <>
struct OptionTag<Padding> : std::integral_constant<OptionType, OptionType::padding> {};

// Choices are enum classes, of int or of one byte.
template <class T>
constexpr int option_number() {
  if constexpr (std::is_enum_v<T>) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 1);
    return sizeof(T) == 4 ? static_cast<int>(OptionType::choice) : 7;
  } else {
    return static_cast<int>(OptionTag<T>::value);
  }
}
template <class T>
struct OptionNumber : std::integral_constant<int, option_number<T>()> {};
template <class T>
struct OptionNumber<std::optional<T>> : std::integral_constant<int, 8 + option_number<T>()> {};

using Choices = std::initializer_list<const char*>;

// A schema while the compiler runs: what is said of an op is written into a text, which is all that the
// module keeps of it until the op is used (make_info in schema.cpp reads it). A part of the text: a Part,
// what the part needs in bytes, and a name that ends with 0.
class Schema {
 public:
  enum class Part : char { end, input, option, choice, output, when, no_gradient, internal };
  // Bits of an input's (above its Kind) or output's flags.
  static constexpr int kOptional = 8, kVariadic = 16, kFixed = 32, kSaved = 64, kMutated = 128;

  constexpr Schema(const char* name, Doc doc) {
    put_number(doc.hash());
    put(name);
  }

  constexpr Schema& in(const char* name, Kind kind, Doc doc = "") {
    const bool fixed = kind == Kind::index || kind == Kind::boolean;
    put(static_cast<char>(Part::input));
    flags_ = size_;
    put(static_cast<char>(static_cast<int>(kind) | (fixed ? kFixed : 0)));
    put_number(doc.hash());
    put(name);
    return *this;
  }
  constexpr Schema& out(const char* name) {
    put(static_cast<char>(Part::output));
    flags_ = size_;
    put(char{0});
    put(name);
    return *this;
  }
  // An entry of the options object in JavaScript; `arg` is positional there. The default is Options{}'s.
  template <class O, class T>
  constexpr Schema& opt(const char* name, T O::* member, Doc doc = "", Choices choices = {}) {
    return option(name, offset_of(member), OptionNumber<T>::value, doc, choices);
  }
  template <class O, class T>
  constexpr Schema& arg(const char* name, T O::* member, Doc doc = "", Choices choices = {}) {
    return option(name, offset_of(member), OptionNumber<T>::value | 16, doc, choices);
  }

  // Said of the input or output just named.
  constexpr Schema& saved() { return flag(kSaved); }
  constexpr Schema& nondiff() { return flag(kFixed); }
  constexpr Schema& optional() { return flag(kOptional); }
  constexpr Schema& variadic() { return flag(kVariadic); }
  constexpr Schema& mutated() { return flag(kMutated | kFixed); }
  // Said of the output just named: shown only where that bool option is set.
  constexpr Schema& when(const char* option) { return part(Part::when, option); }

  // Said of the op.
  constexpr Schema& no_gradient(const char* why) { return part(Part::no_gradient, why); }
  constexpr Schema& internal() { return part(Part::internal, ""); }

  constexpr size_t size() const { return size_ + 1; }  // with Part::end
  constexpr char operator[](size_t i) const { return text_[i]; }

 private:
  // Options is a simple aggregate whose base, if any, lies at its start. The compiler folds this cast, which
  // the language forbids in constants, under __builtin_constant_p alone.
  template <class O, class T>
  static constexpr size_t offset_of(T O::* member) {
    return __builtin_constant_p(reinterpret_cast<size_t>(&(static_cast<O*>(nullptr)->*member)))
               ? reinterpret_cast<size_t>(&(static_cast<O*>(nullptr)->*member))
               : 0;
  }
  constexpr Schema& option(const char* name, size_t offset, int number, Doc doc, Choices choices) {
    put(static_cast<char>(Part::option));
    put(static_cast<char>(number));
    put_number(offset);
    put_number(doc.hash());
    put(name);
    for (const char* choice : choices) part(Part::choice, choice);
    return *this;
  }
  constexpr Schema& part(Part what, const char* name) {
    put(static_cast<char>(what));
    put(name);
    return *this;
  }
  constexpr Schema& flag(int bits) {
    text_[flags_] = static_cast<char>(text_[flags_] | bits);
    return *this;
  }
  constexpr void put(char c) { text_[size_++] = c; }
  constexpr void put(const char* name) {
    for (; *name; ++name) put(*name);
    put(char{0});
  }
  constexpr void put_number(size_t n) {
    put(static_cast<char>(n & 255));
    put(static_cast<char>(n >> 8));
  }

  char text_[1024] = {};
  size_t size_ = 0, flags_ = 0;
};

constexpr Schema op(const char* name, Doc doc) { return Schema(name, doc); }

}  // namespace omnigrad
