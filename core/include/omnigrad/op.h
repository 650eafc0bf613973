// The op schema: the one list that the binding, the TypeScript signatures, the golden runner, gradient
// checks, fuzzing and the table of ops read. An op is a struct that holds its schema, shape rule, forward and
// vjp side by side:
//
//   struct Softmax {
//     struct Options { int64_t dim = -1; };
//     static Schema schema();                                           // op("softmax",
//     ...).in(...).opt(...).out(...) static OutSpecs shape(const Options&, Inputs);                    //
//     every check; allocates nothing static void forward(const Options&, Inputs, TensorList& out);     //
//     out: allocated, contiguous, uninitialised static Grads vjp(const Options&, const Saved&, Cotangents,
//     Need); // in public differentiable ops
//   };
//   OMNIGRAD_OP(Softmax)
//
// In place of forward a view op has `static Tensor view(o, in)` and a composite `static TensorList compose(o,
// in)`.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "omnigrad/tensor.h"

namespace omnigrad {

// Padding as a user may give it: one number, one per axis, or [before, after] per axis.
struct Padding {
  Dims values;  // pairs flattened when `pairs`
  bool pairs = false;
};

// An option's value on its way in or out, typed by its schema entry. monostate: absent.
using OptionValue = std::variant<std::monostate, bool, int64_t, double, std::string, Dims, Padding>;
enum class OptionType { boolean, integer, number, choice, text, dims, padding };

// A line of documentation. The module carries no prose, which would be a tenth of it, but a hash (FNV-1a) of
// each line: scripts/lib/schema.mjs finds the text among the string literals of core/src/ops.
class Doc {
 public:
  consteval Doc(const char* text) {
    if (!*text) return;
    hash_ = 2166136261u;
    for (; *text; ++text) hash_ = (hash_ ^ static_cast<unsigned char>(*text)) * 16777619u;
  }
  uint32_t hash() const { return hash_; }  // 0: no text
  bool empty() const { return hash_ == 0; }

 private:
  uint32_t hash_ = 0;
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

struct InputInfo {
  std::string name;
  Doc doc = "";
  Kind kind = Kind::any;
  bool optional = false, variadic = false, differentiable = true, saved = false, mutated = false;
  int order = 0;  // among inputs and options, as the schema names them: the order of positional parameters
};
struct OptionInfo {
  std::string name;
  Doc doc = "";
  OptionType type;
  bool nullable = false, positional = false;
  int order = 0;
  std::vector<std::string> choices;

  void set(void* options, const OptionValue& v) const { write(static_cast<char*>(options) + offset, v); }
  OptionValue get(const void* options) const { return read(static_cast<const char*>(options) + offset); }

  size_t offset = 0;  // of the member in the op's Options
  void (*write)(void* member, const OptionValue&) = nullptr;
  OptionValue (*read)(const void* member) = nullptr;
};
struct OutputInfo {
  std::string name, when;  // `when`: the bool option that shows it
  bool differentiable = true, saved = false;
};

using Inputs = const TensorList&;
using Grads = TensorList;
using Cotangents = const TensorList&;  // undefined: zero
struct OutSpec {
  Dims shape;
  DType dtype;
};
using OutSpecs = SmallVec<OutSpec, 2>;

// Which input gradients a vjp is asked for.
class Need {
 public:
  explicit Need(const SmallVec<bool, 8>& wanted) : wanted_(wanted) {}
  bool operator[](size_t input) const { return input < wanted_.size() && wanted_[input]; }
  size_t size() const { return wanted_.size(); }

 private:
  const SmallVec<bool, 8>& wanted_;
};

// What a vjp may read: saved inputs and outputs, and every input's and output's shape.
class Saved {
 public:
  explicit Saved(const Ref<Node>& node) : node_(node) {}
  Tensor in(size_t i) const;   // undefined where the optional input was absent
  Tensor out(size_t i) const;  // reattached to the graph
  const Dims& shape(size_t input) const;
  DType dtype(size_t input) const;
  const Dims& out_shape(size_t output) const;
  size_t inputs() const;

 private:
  const Ref<Node>& node_;
};

// What an op can do, by its struct's functions; none: the struct has no such function.
struct OpFunctions {
  void* (*copy_options)(const void*) = nullptr;  // null argument: the defaults
  void (*free_options)(void*) = nullptr;
  OutSpecs (*shape)(const void* o, Inputs) = nullptr;
  void (*forward)(const void* o, Inputs, TensorList& out) = nullptr;
  Tensor (*view)(const void* o, Inputs) = nullptr;
  TensorList (*compose)(const void* o, Inputs) = nullptr;
  Grads (*vjp)(const void* o, const Saved&, Cotangents, Need) = nullptr;
};

// Everything the dispatcher and the engine know of an op.
struct OpInfo : OpFunctions {
  std::string name;
  Doc doc = "";
  std::string no_gradient;  // why it has none
  bool internal = false;    // reached through other ops; no TypeScript function of its own
  std::vector<InputInfo> inputs;
  std::vector<OptionInfo> options;
  std::vector<OutputInfo> outputs;

  // Variadic inputs come last in a call, in groups of equal length.
  const InputInfo& input_at(size_t i, size_t count) const;
  size_t fixed_inputs() const;
};

// ---- building a schema

// How a C++ type is an option: its tag, and its member's reading and writing, shared by all ops.
struct OptionAccess {
  OptionType type;
  bool nullable;
  void (*write)(void* member, const OptionValue&);
  OptionValue (*read)(const void* member);
};

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

template <class T>
struct OptionOf {
  static void write(void* p, const OptionValue& v) { *static_cast<T*>(p) = std::get<T>(v); }
  static OptionValue read(const void* p) { return *static_cast<const T*>(p); }
  static constexpr OptionAccess access{OptionTag<T>::value, false, &write, &read};
};
// Choices are enum classes, stored by their underlying integer.
template <class I>
struct ChoiceOf {
  static void write(void* p, const OptionValue& v) {
    *static_cast<I*>(p) = static_cast<I>(std::get<int64_t>(v));
  }
  static OptionValue read(const void* p) { return static_cast<int64_t>(*static_cast<const I*>(p)); }
  static constexpr OptionAccess access{OptionType::choice, false, &write, &read};
};
template <class T>
  requires(std::is_enum_v<T>)
struct OptionOf<T> : ChoiceOf<std::underlying_type_t<T>> {};
template <class T>
struct OptionOf<std::optional<T>> {
  static void write(void* p, const OptionValue& v) {
    auto& member = *static_cast<std::optional<T>*>(p);
    member.reset();
    if (!std::holds_alternative<std::monostate>(v)) OptionOf<T>::write(&member.emplace(), v);
  }
  static OptionValue read(const void* p) {
    const auto& member = *static_cast<const std::optional<T>*>(p);
    return member ? OptionOf<T>::read(&*member) : OptionValue();
  }
  static constexpr OptionAccess access{OptionOf<T>::access.type, true, &write, &read};
};

using Choices = std::initializer_list<const char*>;

class Schema {
 public:
  Schema(const char* name, Doc doc);
  // Out of line: every op calls them.
  Schema(const Schema& other);
  Schema& operator=(const Schema& other) = delete;
  ~Schema();

  Schema& in(const char* name, Kind kind, Doc doc = "");
  Schema& out(const char* name);
  // An entry of the options object in JavaScript; `arg` is positional there. The default is Options{}'s.
  template <class O, class T>
  Schema& opt(const char* name, T O::* member, Doc doc = "", Choices choices = {}) {
    return option(name, offset_of(member), OptionOf<T>::access, false, doc, choices);
  }
  template <class O, class T>
  Schema& arg(const char* name, T O::* member, Doc doc = "", Choices choices = {}) {
    return option(name, offset_of(member), OptionOf<T>::access, true, doc, choices);
  }

  // Said of the input or output just named.
  Schema& saved();
  Schema& nondiff();
  Schema& optional();
  Schema& variadic();
  Schema& mutated();                 // implies nondiff
  Schema& when(const char* option);  // shown only where that bool option is set

  // Said of the op.
  Schema& no_gradient(const char* why);
  Schema& internal();

  OpInfo info;

 private:
  // Options is a simple aggregate whose base, if any, lies at its start.
  template <class O, class T>
  static size_t offset_of(T O::* member) {
    alignas(O) static const char place[sizeof(O)] = {};
    const O* o = reinterpret_cast<const O*>(place);
    return static_cast<size_t>(reinterpret_cast<const char*>(&(o->*member)) - place);
  }
  Schema& option(const char* name, size_t offset, const OptionAccess& access, bool positional, Doc doc,
                 Choices choices);

  enum class Last { input, option, output } last_ = Last::input;
  int order_ = 0;
};

inline Schema op(const char* name, Doc doc) { return Schema(name, doc); }

// ---- registration and calls

struct NoOptions {};

template <class Op>
struct OptionsOf {
  using type = NoOptions;
};
template <class Op>
  requires requires { typename Op::Options; }
struct OptionsOf<Op> {
  using type = typename Op::Options;
};

template <class Op>
constexpr OpFunctions functions_of() {
  using O = typename OptionsOf<Op>::type;
  OpFunctions f;
  if constexpr (std::is_empty_v<O>) {
    f.copy_options = [](const void*) -> void* {
      static O none;
      return &none;
    };
    f.free_options = [](void*) {};
  } else {
    f.copy_options = [](const void* o) -> void* { return o ? new O(*static_cast<const O*>(o)) : new O(); };
    f.free_options = [](void* o) { delete static_cast<O*>(o); };
  }
  f.shape = [](const void* o, Inputs in) { return Op::shape(*static_cast<const O*>(o), in); };
  if constexpr (requires { &Op::forward; }) {
    f.forward = [](const void* o, Inputs in, TensorList& out) {
      Op::forward(*static_cast<const O*>(o), in, out);
    };
  }
  if constexpr (requires { &Op::view; }) {
    f.view = [](const void* o, Inputs in) { return Op::view(*static_cast<const O*>(o), in); };
  }
  if constexpr (requires { &Op::compose; }) {
    f.compose = [](const void* o, Inputs in) { return Op::compose(*static_cast<const O*>(o), in); };
  }
  if constexpr (requires { &Op::vjp; }) {
    f.vjp = [](const void* o, const Saved& s, Cotangents g, Need need) {
      return Op::vjp(*static_cast<const O*>(o), s, g, need);
    };
  }
  return f;
}

// Lives as long as the program.
const OpInfo& make_info(const Schema& schema, const OpFunctions& functions);

template <class Op>
const OpInfo& info_of() {
  static constexpr OpFunctions functions = functions_of<Op>();
  static const OpInfo& info = make_info(Op::schema(), functions);
  return info;
}

using OpGetter = const OpInfo& (*)();
int register_op(OpGetter getter);
#define OMNIGRAD_OP(Op) \
  [[maybe_unused]] static const int registered_##Op = ::omnigrad::register_op(&::omnigrad::info_of<Op>);

// Every op, sorted by name: the same order in every build.
const std::vector<const OpInfo*>& all_ops();
const OpInfo* find_op(std::string_view name);
// All schemas as JSON: {maxRank, ops: [{name, doc, inputs, options, outputs, ...}]}.
std::string schema_json();
std::string schema_json(const OpInfo& op);  // one of these ops

// Checks, allocates, runs and records a call. `options` is the op's Options.
TensorList dispatch(const OpInfo& op, const void* options, const TensorList& inputs);

// The first output of the op of that name, if it has any, with its default options.
Tensor call(const char* name, const TensorList& inputs);

template <class Op>
TensorList apply(const TensorList& inputs, const typename OptionsOf<Op>::type& options = {}) {
  return dispatch(info_of<Op>(), &options, inputs);
}
template <class Op>
Tensor apply1(const TensorList& inputs, const typename OptionsOf<Op>::type& options = {}) {
  return std::move(dispatch(info_of<Op>(), &options, inputs)[0]);
}

// ---- what shape rules share

Dims broadcast_shapes(const Dims& a, const Dims& b);
// Strides of `t` as a tensor of `shape`, to which it broadcasts: 0 along the axes that it repeats.
Dims broadcast_strides(const Tensor& t, const Dims& shape);
// `dim` in [-rank, rank) as a number from 0.
int64_t normalize_dim(int64_t dim, int64_t rank);
// The axes a reduction names, sorted; none given: all.
Dims normalize_dims(const Dims& dims, int64_t rank);
// One value an axis from one number or one per axis.
Dims per_axis(const Dims& given, int64_t axes, const char* option);
// [before, after] for each axis, flattened.
Dims per_axis(const Padding& given, int64_t axes, const char* option);

}  // namespace omnigrad
