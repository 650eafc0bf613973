#include "mutations.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "compare.h"

namespace omnigrad::test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// The greatest whole number that JavaScript tells from its neighbours, and one whose square overflows.
constexpr int64_t kSafe = (int64_t{1} << 53) - 1, kHuge = int64_t{1} << 40;

Mutation with_input(const Call& call, size_t i, Tensor t, std::string what, bool must_fail) {
  Mutation m{"input " + call.input(i).name + " " + std::move(what), must_fail, call};
  m.call.inputs[i] = std::move(t);
  return m;
}
Mutation with_option(const Call& call, const std::string& name, OptionValue value, bool must_fail) {
  Mutation m{"option " + name + " = " + text_of(value), must_fail, call};
  m.call.set(name, std::move(value));
  return m;
}

// A dtype that the kind never takes.
bool wrong_dtype(Kind kind, DType& out) {
  switch (kind) {
    case Kind::floating:
      out = DType::int32;
      return true;
    case Kind::number:
      out = DType::boolean;
      return true;
    case Kind::index:
      out = DType::float32;
      return true;
    case Kind::boolean:
      out = DType::float64;
      return true;
    case Kind::any:
    case Kind::free:
      out = DType::float16;
      return true;
    case Kind::storage:
      break;
  }
  return false;
}
bool shares_dtype(Kind k) { return k == Kind::floating || k == Kind::number || k == Kind::any; }

bool names_axes(const OptionInfo& o) { return o.name == "dim" || o.name == "dims"; }

}  // namespace

std::vector<Mutation> dtype_mutations(const Call& call) {
  std::vector<Mutation> out;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Tensor& t = call.inputs[i];
    if (!t.defined()) continue;
    const Kind kind = call.input(i).kind;
    DType wrong;
    if (wrong_dtype(kind, wrong)) {
      out.push_back(
          with_input(call, i, Tensor::zeros(t.shape(), wrong), std::string("is ") + name_of(wrong), true));
      out.back().says = call.input(i).name + std::string(" has dtype ") + name_of(wrong) + ", it needs ";
    }
    // Another dtype than its companions have.
    for (size_t k = 0; k < call.inputs.size() && shares_dtype(kind); ++k) {
      if (k == i || !call.inputs[k].defined() || call.input(k).kind != kind) continue;
      const DType other = t.dtype() == DType::float32 ? DType::float64 : DType::float32;
      out.push_back(with_input(call, i, Tensor::zeros(t.shape(), other), "differs in dtype", true));
      out.back().says = "dtypes are never mixed silently";
      break;
    }
  }
  return out;
}

std::vector<Mutation> missing_inputs(const Call& call) {
  std::vector<Mutation> out;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.inputs[i].defined() || call.input(i).optional) continue;
    out.push_back(with_input(call, i, Tensor(), "is missing", true));
    out.back().says = "input " + call.input(i).name + " is missing";
  }
  const bool variadic = !call.op().inputs.empty() && call.op().inputs.back().variadic;
  if (!variadic) {
    Mutation m{"one input too many", true, call, "takes "};
    m.call.inputs.push_back(Tensor::zeros({1}, DType::float32));
    out.push_back(m);
    if (!call.inputs.empty()) {
      m.what = "one input too few";
      m.call.inputs = call.inputs;
      m.call.inputs.pop_back();
      out.push_back(m);
    }
  }
  return out;
}

std::vector<Mutation> shape_mutations(const Call& call) {
  std::vector<Mutation> out;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.inputs[i].defined()) continue;
    const Dims old = call.inputs[i].shape();
    const auto add = [&](const Dims& shape) {
      out.push_back(with_input(call, i, Tensor::zeros(shape, call.inputs[i].dtype()),
                               "has shape " + text(shape), false));
    };
    Dims longer = old, shorter = old;
    longer.push_back(7);
    add(longer);
    longer = old;
    longer.insert(0, 3);
    add(longer);
    add({});
    if (!old.empty()) {
      shorter.pop_back();
      add(shorter);
    }
    for (size_t axis = 0; axis < old.size(); ++axis) {
      for (int64_t size : {old[axis] + 5, int64_t{0}, old[axis] - 1}) {
        Dims other = old;
        other[axis] = size;
        if (size >= 0) add(other);
      }
    }
  }
  return out;
}

std::vector<Mutation> option_mutations(const Call& call) {
  std::vector<Mutation> out;
  for (const OptionInfo& o : call.op().options) {
    const OptionValue now = o.get(call.options());
    const auto add = [&](OptionValue v, bool must_fail = false) {
      out.push_back(with_option(call, o.name, std::move(v), must_fail));
    };
    switch (o.type) {
      case OptionType::integer:
        for (int64_t v : {int64_t{-1}, int64_t{0}, int64_t{99}, kHuge, -kHuge, kSafe, -kSafe}) {
          add(v, names_axes(o) && v != -1 && v != 0);
        }
        break;
      case OptionType::number:
        for (double v : {-1.0, 0.0, 1e300, kNaN, kInfinity}) add(v);
        break;
      case OptionType::dims: {
        for (int64_t v : {int64_t{-1}, int64_t{0}, int64_t{99}, kHuge, kSafe, -kSafe}) {
          add(Dims{v}, names_axes(o) && v != -1 && v != 0);
        }
        add(Dims{});
        add(Dims(size_t{20}, 2), names_axes(o));
        add(Dims{kHuge, kHuge, kHuge});
        add(Dims{0, 0}, names_axes(o) && call.op().name != "roll");  // rolls twice
        break;
      }
      case OptionType::padding:
        for (int64_t v : {int64_t{-1}, int64_t{-99}, int64_t{99}, kHuge, kSafe, -kSafe}) {
          add(Padding{{v}, false});
          add(Padding{{v, v}, true});
          Padding same = std::get<Padding>(now);
          for (int64_t& p : same.values) p = v;
          add(same);
        }
        add(Padding{Dims(size_t{40}, 1), true});
        add(Padding{{1, 2, 3}, false});
        break;
      case OptionType::boolean:
        add(!std::get<bool>(now));
        break;
      case OptionType::choice:
        for (size_t k = 0; k < o.choices.size(); ++k) add(static_cast<int64_t>(k));
        break;
      case OptionType::text:
        add(std::string());
        add(std::string("\xff ...->,,"));
        break;
    }
    if (o.nullable) add(std::monostate());
  }
  return out;
}

std::vector<Mutation> index_mutations(const Call& call) {
  std::vector<Mutation> out;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Tensor& t = call.inputs[i];
    if (!t.defined() || !is_integer(t.dtype()) || t.numel() == 0) continue;
    // Cross-entropy's target holds classes or probabilities, so its kind does not say.
    if (call.input(i).kind != Kind::index && call.op().name != "crossEntropy") continue;
    for (double v : {-1.0, 200.0, 2e9}) {
      if (t.dtype() == DType::uint8 && v != 200.0) continue;
      Tensor bad = copy_of(t);
      visit_index(t.dtype(), [&]<class I>() { bad.data<I>()[t.numel() - 1] = static_cast<I>(v); });
      // oneHot makes as many classes as it sees, and advanced indices count from the end.
      const std::string& op = call.op().name;
      const bool counts = op == "oneHot", from_end = op == "index" || op == "indexPut";
      if (counts && v > 200) continue;
      const bool must_fail = counts ? v < 0 : !(from_end && v == -1);
      out.push_back(with_input(call, i, bad, "ends with " + text(v), must_fail));
    }
  }
  return out;
}

std::vector<Mutation> all_mutations(const Call& call) {
  std::vector<Mutation> out;
  for (const auto& list : {dtype_mutations(call), missing_inputs(call), shape_mutations(call),
                           option_mutations(call), index_mutations(call)}) {
    out.insert(out.end(), list.begin(), list.end());
  }
  return out;
}

Call random_mutation(const Call& call, Gen& gen) {
  Call c = call;
  // One to three changes at once.
  for (int64_t n = gen.integer(1, 3); n > 0; --n) {
    const auto inputs = static_cast<int64_t>(c.inputs.size()),
               options = static_cast<int64_t>(c.op().options.size());
    if (inputs + options == 0) break;
    const int64_t at = gen.integer(0, inputs + options - 1);
    if (at < inputs) {
      Tensor& t = c.inputs[static_cast<size_t>(at)];
      if (!t.defined()) continue;
      if (gen.chance(0.1)) {
        t = Tensor();
        continue;
      }
      const DType type = gen.chance(0.2) ? static_cast<DType>(gen.integer(0, kDTypes - 1)) : t.dtype();
      Dims shape = t.shape();
      if (gen.chance(0.2)) {
        shape = gen.shape(0, 6, 3);
      } else if (!shape.empty()) {
        shape[static_cast<size_t>(gen.integer(0, static_cast<int64_t>(shape.size()) - 1))] =
            gen.integer(0, 6);
      }
      t = gen.tensor(shape, -2, 2, type);
      continue;
    }
    const OptionInfo& o = c.op().options[static_cast<size_t>(at - inputs)];
    const auto number = [&] { return gen.chance(0.1) ? gen.integer(-40, 40) : gen.integer(-3, 6); };
    Dims list;
    for (int64_t k = gen.integer(0, 6); k > 0; --k) list.push_back(number());
    switch (o.type) {
      case OptionType::boolean:
        c.set(o.name, gen.chance());
        break;
      case OptionType::integer:
        c.set(o.name, number());
        break;
      case OptionType::number:
        c.set(o.name, gen.real(-3, 3));
        break;
      case OptionType::choice:
        c.set(o.name, gen.integer(0, static_cast<int64_t>(o.choices.size()) - 1));
        break;
      case OptionType::dims:
        c.set(o.name, list);
        break;
      case OptionType::padding: {
        const bool pairs = gen.chance();
        if (pairs && list.size() % 2) list.push_back(1);
        c.set(o.name, Padding{list, pairs});
        break;
      }
      case OptionType::text: {
        std::string s;
        for (int64_t k = gen.integer(0, 8); k > 0; --k)
          s += gen.pick({'i', 'j', 'k', ',', '-', '>', '.', ' '});
        c.set(o.name, s);
        break;
      }
    }
  }
  return c;
}

}  // namespace omnigrad::test
