// Samples of special functions and activations.
#include "samples.h"

namespace omnigrad::test {
namespace {

Sampler within(const char* name, double low, double high) {
  return [=](Gen& g) { return Call(name, {g.tensor(g.shape(0, 3), low, high)}); };
}
Sampler stepped(const char* name) {
  return [=](Gen& g) { return Call(name, {g.between_steps(g.shape(0, 3))}); };
}
// With one number as an option.
Sampler with_number(const char* name, const char* option, double low, double high) {
  return [=](Gen& g) {
    Call c(name, {g.between_steps(g.shape(0, 3))});
    return g.chance() ? c.set(option, g.real(low, high)) : c;
  };
}

// Both operands away from 0.
Sampler two_away(const char* name) {
  return [=](Gen& g) {
    const Dims shape = g.shape(0, 3);
    return Call(name, {g.away(shape), g.away(g.broadcasting(shape))});
  };
}
// x = y times what is not a whole number.
Sampler remainder(const char* name) {
  return [=](Gen& g) {
    const Dims shape = g.shape(0, 3);
    const DType type = g.number_dtype();
    if (type != g.dtype) return Call(name, {g.tensor(shape, -2, 2, type), g.tensor(shape, -2, 2, type)});
    const Tensor y = g.tensor(shape, 0.5, 2), x = g.between_steps(shape);
    if (!g.smooth) return Call(name, {x, y});
    visit_floating(g.dtype, [&]<class T>() {
      for (int64_t i = 0; i < x.numel(); ++i)
        x.data<T>()[i] = static_cast<T>(static_cast<float>(x.data<T>()[i] * y.data<T>()[i]));
    });
    return Call(name, {x, y});
  };
}

Call lerp(Gen& g) {
  const Dims shape = g.shape(0, 3);
  return Call("lerp",
              {g.tensor(shape), g.tensor(g.broadcasting(shape)), g.tensor(g.broadcasting(shape), 0, 1)});
}
Call prelu(Gen& g) {
  const Dims shape = g.shape(0, 4);
  const int64_t channels = shape.size() > 1 && g.chance() ? shape[1] : 1;
  return Call("prelu", {g.away(shape), g.tensor(g.chance() && channels == 1 ? Dims{} : Dims{channels})});
}
Call gated(Gen& g, const char* name) {
  Dims shape = g.shape(1, 3);
  const int64_t dim = g.dim_of(shape);
  shape[static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(shape.size()) : dim)] *= 2;
  return Call(name, {g.tensor(shape)}).set("dim", dim);
}
Call clamp(Gen& g) {
  Call c("clamp", {g.between_steps(g.shape(0, 3))});
  if (g.chance(0.7)) c.set("min", g.pick({-1.0, -0.5, 0.0}));
  if (g.chance(0.7)) c.set("max", g.pick({0.0, 0.5, 1.5}));
  return c;
}

}  // namespace

void add_activation_samples(SampleTable& t) {
  for (const char* name : {"atan", "sinh", "cosh", "asinh", "expm1", "erf", "erfc"})
    t[name] = within(name, -2, 2);
  for (const char* name : {"asin", "acos", "atanh", "erfinv", "tan", "log1p"})
    t[name] = within(name, -0.8, 0.8);
  for (const char* name : {"log2", "log10", "rsqrt", "lgamma", "digamma"}) t[name] = within(name, 0.5, 3);
  t["acosh"] = within("acosh", 1.3, 3);
  t["sinc"] = [](Gen& g) { return Call("sinc", {g.away(g.shape(0, 3))}); };
  t["polygamma"] = [](Gen& g) {
    return Call("polygamma", {g.tensor(g.shape(0, 3), 0.8, 3)}).set("n", g.integer(0, 3));
  };
  for (const char* name : {"floor", "ceil", "round", "trunc", "frac", "sign", "relu6", "selu", "silu", "mish",
                           "softsign", "tanhshrink", "hardsigmoid", "hardswish", "logSigmoid", "geluTanh"}) {
    t[name] = stepped(name);
  }
  t["gelu"] = [](Gen& g) {
    return Call("gelu", {g.tensor(g.shape(0, 3))}).set("approximate", g.integer(0, 1));
  };
  t["activationGrad"] = [](Gen& g) {
    const Dims shape = g.shape(0, 3);
    return Call("activationGrad", {g.tensor(shape), g.tensor(shape)}).set("kind", g.integer(0, 3));
  };
  t["elu"] = with_number("elu", "alpha", 0.2, 2);
  t["celu"] = with_number("celu", "alpha", 0.5, 2);
  t["leakyRelu"] = with_number("leakyRelu", "negativeSlope", 0, 0.5);
  t["softplus"] = with_number("softplus", "beta", 0.5, 2);
  t["hardshrink"] = stepped("hardshrink");
  t["softshrink"] = stepped("softshrink");
  t["hardtanh"] = [](Gen& g) {
    return Call("hardtanh", {g.between_steps(g.shape(0, 3))}).set("min", -0.5).set("max", g.pick({0.0, 1.0}));
  };
  t["threshold"] = [](Gen& g) {
    return Call("threshold", {g.between_steps(g.shape(0, 3))})
        .set("threshold", 0.5)
        .set("value", g.real(-1, 1));
  };
  t["clamp"] = clamp;
  t["prelu"] = prelu;
  for (const char* name : {"glu", "swiglu"}) t[name] = [=](Gen& g) { return gated(g, name); };
  t["softmin"] = [](Gen& g) {
    const Dims shape = g.shape(1, 4);
    return Call("softmin", {g.tensor(shape)}).set("dim", g.dim_of(shape));
  };
  t["lerp"] = lerp;
  for (const char* name : {"atan2", "hypot"}) t[name] = two_away(name);
  for (const char* name : {"remainder", "fmod", "floorDivide"}) t[name] = remainder(name);
}

}  // namespace omnigrad::test
