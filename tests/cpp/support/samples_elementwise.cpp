// Samples of elementwise ops and reductions.
#include "samples.h"

namespace omnigrad::test {
namespace {

Sampler unary(const char* name, double low, double high) {
  return [=](Gen& g) { return Call(name, {g.tensor(g.shape(0, 4), low, high)}); };
}
// Of either sign, 0 only where a kink does not matter.
Sampler unary_away(const char* name, bool number = false) {
  return [=](Gen& g) {
    const Dims shape = g.shape(0, 4);
    return Call(name, {number && !g.smooth && g.chance(0.3) ? g.number(shape) : g.away(shape)});
  };
}

// A result's shape and two operands' that broadcast to it.
struct Pair {
  Dims a, b;
  explicit Pair(Gen& g) {
    const Dims shape = g.shape(0, 3);
    a = g.chance() ? shape : g.broadcasting(shape);
    b = g.chance() ? shape : g.broadcasting(shape);
  }
};

Sampler binary(const char* name) {
  return [=](Gen& g) {
    const Pair p(g);
    const DType t = g.number_dtype();
    return Call(name, {g.tensor(p.a, -2, 2, t), g.tensor(p.b, -2, 2, t)});
  };
}
Sampler extreme_of_two(const char* name) {
  return [=](Gen& g) {
    const Pair p(g);
    return Call(name, {g.distinct(p.a), g.distinct(p.b, g.smooth ? 0.05 : 0)});
  };
}
Sampler comparison(const char* name) {
  return [=](Gen& g) {
    const Pair p(g);
    const DType t = g.any_dtype();
    return Call(name, {g.tensor(p.a, -2, 2, t), g.tensor(p.b, -2, 2, t)});
  };
}

Dims axes(Gen& g, const Dims& shape) {
  Dims out;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i) {
    if (g.chance()) out.push_back(g.chance() ? i : i - static_cast<int64_t>(shape.size()));
  }
  return out;
}
Sampler reduction(const char* name, bool number, bool distinct) {
  return [=](Gen& g) {
    const Dims shape = g.shape(0, 4);
    Tensor x = distinct ? g.distinct(shape) : g.tensor(shape);
    if (number && !g.smooth) x = g.number(shape);
    return Call(name, {x}).set("dim", axes(g, shape)).set("keepdim", g.chance());
  };
}
// An extreme needs an element.
Dims full_shape(Gen& g, int64_t min_rank, int64_t max_rank) {
  return g.sizes(g.integer(min_rank, max_rank), 1, 4);
}
Sampler extreme(const char* name) {
  return [=](Gen& g) {
    const Dims shape = full_shape(g, 0, 4);
    return Call(name, {g.smooth || g.chance() ? g.distinct(shape) : g.number(shape)})
        .set("dim", axes(g, shape))
        .set("keepdim", g.chance());
  };
}
Sampler arg_extreme(const char* name) {
  return [=](Gen& g) {
    const Dims shape = full_shape(g, 1, 4);
    Call c(name, {g.number(shape)});
    if (g.chance(0.7)) c.set("dim", g.dim_of(shape));
    return c.set("keepdim", g.chance());
  };
}

}  // namespace

void add_elementwise_samples(SampleTable& t) {
  for (const char* name : {"exp", "sigmoid", "tanh", "sin", "cos"}) t[name] = unary(name, -2, 2);
  for (const char* name : {"log", "sqrt"}) t[name] = unary(name, 0.3, 3);
  t["reciprocal"] = [](Gen& g) { return Call("reciprocal", {g.tensor(g.shape(0, 4), 0.4, 2)}); };
  for (const char* name : {"neg", "abs", "square", "relu"}) t[name] = unary_away(name, true);
  t["reluGrad"] = [](Gen& g) {
    const Dims shape = g.shape(0, 3);
    return Call("reluGrad", {g.tensor(shape), g.away(shape)});
  };
  for (const char* name : {"add", "sub", "mul"}) t[name] = binary(name);
  t["div"] = [](Gen& g) {
    const Pair p(g);
    return Call("div", {g.tensor(p.a), g.tensor(p.b, 0.5, 2)});
  };
  t["pow"] = [](Gen& g) {
    const Pair p(g);
    return Call("pow", {g.tensor(p.a, 0.4, 2), g.tensor(p.b, -2, 3)});
  };
  for (const char* name : {"maximum", "minimum"}) t[name] = extreme_of_two(name);
  for (const char* name : {"eq", "ne", "lt", "le", "gt", "ge"}) t[name] = comparison(name);
  t["where"] = [](Gen& g) {
    const Pair p(g);
    const DType type = g.any_dtype();
    const Dims& longer = p.a.size() > p.b.size() ? p.a : p.b;
    return Call("where",
                {g.mask(g.broadcasting(longer)), g.tensor(p.a, -2, 2, type), g.tensor(p.b, -2, 2, type)});
  };
  t["sum"] = reduction("sum", true, false);
  t["mean"] = [](Gen& g) {
    const Dims shape = full_shape(g, 0, 4);
    return Call("mean", {g.tensor(shape)}).set("dim", axes(g, shape)).set("keepdim", g.chance());
  };
  for (const char* name : {"amax", "amin"}) t[name] = extreme(name);
  for (const char* name : {"argmax", "argmin"}) t[name] = arg_extreme(name);
}

}  // namespace omnigrad::test
