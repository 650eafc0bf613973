// The op schema: the one list that the binding, the TypeScript signatures, the golden runner, gradient
// checks, fuzzing and the table of ops read. An op is a struct that holds its schema, shape rule, forward and
// vjp side by side:
//
//   struct Softmax {
//     struct Options { int64_t dim = -1; };
//     static constexpr Schema schema();  // op("softmax", ...).in(...).opt(...).out(...)
//     // Every check; allocates nothing.
//     static OutSpecs shape(const Options&, Inputs);
//     // out: allocated, contiguous, uninitialised.
//     static void forward(const Options&, Inputs, TensorList& out);
//     // In public differentiable ops.
//     static Grads vjp(const Options&, const Saved&, Cotangents, Need);
//   };
//   OMNIGRAD_OP(Softmax)
//
// In place of forward a view op has `static Tensor view(o, in)` and a composite
// `static TensorList compose(o, in)`.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "omnigrad/schema.h"
#include "omnigrad/tensor.h"

namespace omnigrad {

struct InputInfo {
  std::string name;
  uint16_t doc = 0;  // of class Doc
  Kind kind = Kind::any;
  bool optional = false, variadic = false, differentiable = true, saved = false, mutated = false;
  int order = 0;  // among inputs and options, as the schema names them: the order of positional parameters
};
struct OptionInfo {
  std::string name;
  uint16_t doc = 0;  // of class Doc
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
  uint16_t doc = 0;         // of class Doc
  std::string no_gradient;  // why it has none
  bool internal = false;    // reached through other ops; no TypeScript function of its own
  std::vector<InputInfo> inputs;
  std::vector<OptionInfo> options;
  std::vector<OutputInfo> outputs;

  // Variadic inputs come last in a call, in groups of equal length.
  const InputInfo& input_at(size_t i, size_t count) const;
  size_t fixed_inputs() const;
};

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

template <class Op>
struct SchemaText {
  static constexpr size_t kSize = Op::schema().size();
  char text[kSize] = {};
  constexpr SchemaText() {
    const Schema schema = Op::schema();
    for (size_t i = 0; i < kSize; ++i) text[i] = schema[i];
  }
};

// An op in the list of ops; its OpInfo is made when it is first asked for, and lives as long as the program.
struct OpEntry {
  const char* schema;  // the text of its Schema
  const OpFunctions* functions;
  OpEntry* next = nullptr;
  const OpInfo* info = nullptr;

  const char* name() const { return schema + 2; }
};
template <class Op>
struct EntryOf {
  static constexpr SchemaText<Op> text{};
  static constexpr OpFunctions functions = functions_of<Op>();
  static inline constinit OpEntry entry{text.text, &functions};
};

const OpInfo& info_of(OpEntry& entry);
template <class Op>
const OpInfo& info_of() {
  return info_of(EntryOf<Op>::entry);
}

int register_op(OpEntry& entry);
#define OMNIGRAD_OP(Op) \
  [[maybe_unused]] static const int registered_##Op = ::omnigrad::register_op(::omnigrad::EntryOf<Op>::entry);

// Every op, sorted by name: the same order in every build.
const std::vector<const OpInfo*>& all_ops();
const OpInfo* find_op(std::string_view name);
// The place of the op of that name among all, -1: there is none; the op at a place.
int op_index(std::string_view name);
const OpInfo& op_at(size_t index);
// All schemas as JSON: {maxRank, ops: [{name, doc, inputs, options, outputs, ...}]}.
std::string schema_json();
std::string schema_json(const OpInfo& op);  // one of these ops

// Checks, allocates, runs and records a call. `options` is the op's Options.
TensorList dispatch(const OpInfo& op, const void* options, const TensorList& inputs);

// The first output of the op of that name, if it has any, with its default options.
Tensor call(const char* name, const TensorList& inputs);

TensorList dispatch(OpEntry& op, const void* options, const TensorList& inputs);
Tensor dispatch1(OpEntry& op, const void* options, const TensorList& inputs);  // the first output

template <class Op>
TensorList apply(const TensorList& inputs, const typename OptionsOf<Op>::type& options = {}) {
  return dispatch(EntryOf<Op>::entry, &options, inputs);
}
template <class Op>
Tensor apply1(const TensorList& inputs, const typename OptionsOf<Op>::type& options = {}) {
  return dispatch1(EntryOf<Op>::entry, &options, inputs);
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
