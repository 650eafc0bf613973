// Samples of creation, casts, random numbers, and what writes in place.
#include "samples.h"

namespace omnigrad::test {
namespace {

int64_t code(DType t) { return static_cast<int64_t>(t); }
int64_t any_code(Gen& g) { return g.integer(0, kDTypes - 1); }

Call cast(Gen& g) {
  const Dims shape = g.shape(0, 3);
  const DType from = g.any_dtype();
  const int64_t to = g.smooth ? code(g.dtype) : any_code(g);
  return Call("cast", {g.tensor(shape, -2, 2, from)}).set("dtype", to);
}
Call full(Gen& g) {
  return Call("full").set("shape", g.shape(0, 3)).set("value", g.real(-3, 3)).set("dtype", any_code(g));
}
Call arange(Gen& g) {
  const double step = g.pick({-1.5, -1.0, 0.25, 1.0, 2.0});
  return Call("arange")
      .set("start", g.real(-3, 3))
      .set("stop", g.real(-3, 3))
      .set("step", step)
      .set("dtype", code(g.pick({DType::float32, DType::float64, DType::int32, DType::int64})));
}

void set_stream(Gen& g, Call& c) { c.set("seed", g.integer(0, 1000)).set("offset", g.integer(0, 1000)); }
Call random_call(Gen& g, const char* name) {
  Call c(name);
  c.set("shape", g.shape(0, 3, 6));
  set_stream(g, c);
  return c;
}
Call uniform(Gen& g) {
  return random_call(g, "uniform")
      .set("low", g.real(-2, 0))
      .set("high", g.real(0, 2))
      .set("dtype", code(g.dtype));
}
Call normal(Gen& g) {
  return random_call(g, "normal")
      .set("mean", g.real(-2, 2))
      .set("std", g.real(0, 2))
      .set("dtype", code(g.dtype));
}
Call randint(Gen& g) {
  const int64_t low = g.integer(-5, 5);
  return random_call(g, "randint")
      .set("low", low)
      .set("high", low + g.integer(1, 9))
      .set("dtype", g.integer(0, 3));
}
Call randperm(Gen& g) {
  Call c("randperm");
  set_stream(g, c.set("n", g.integer(0, 9)));
  return c;
}

Call copy_into(Gen& g) {
  const Dims shape = g.shape(0, 3);
  const DType to = g.any_dtype(), from = g.any_dtype();
  return Call("copy_", {g.tensor(shape, -2, 2, to), g.tensor(g.broadcasting(shape), -2, 2, from)});
}
Call fill_into(Gen& g) {
  return Call("fill_", {g.tensor(g.shape(0, 3), -2, 2, g.any_dtype())}).set("value", g.real(-2, 2));
}

// `lists` of tensors of the same shapes; those from `optional` on are absent where `with_last` is false.
Call step(Gen& g, const char* name, int lists, bool with_last) {
  const int64_t count = g.integer(1, 3);
  SmallVec<Dims, 4> shapes;
  for (int64_t i = 0; i < count; ++i) shapes.push_back(g.shape(0, 3));
  Call c(name);
  for (int list = 0; list < lists; ++list) {
    const bool state = list >= 2;  // what is not negative: running squares
    for (const Dims& shape : shapes) {
      const bool absent = list == lists - 1 && !with_last;
      c.inputs.push_back(absent ? Tensor() : g.tensor(shape, state ? 0 : -1, 1));
    }
  }
  return c.set("step", g.integer(1, 5))
      .set("lr", 0.1)
      .set("weightDecay", g.pick({0.0, 0.1}))
      .set("maximize", g.chance());
}
Call sgd_step(Gen& g) {
  const bool momentum = g.chance();
  return step(g, "sgdStep", 3, momentum)
      .set("momentum", momentum ? 0.9 : 0.0)
      .set("nesterov", momentum && g.chance());
}
Call adam_step(Gen& g) {
  const bool amsgrad = g.chance();
  return step(g, "adamStep", 5, amsgrad).set("amsgrad", amsgrad).set("decoupled", g.chance());
}
Call adaptive_step(Gen& g) {
  const char* rule = g.pick({"adagrad", "adadelta", "adamax", "nadam", "radam", "rmsprop", "lion", "adan"});
  return step(g, "adaptiveStep", 6, true)
      .choose("rule", rule)
      .set("decoupled", g.chance())
      .set("centered", g.chance())
      .set("momentum", g.pick({0.0, 0.9}));
}
Call muon_step(Gen& g) {
  Call c("muonStep");
  const Dims shape = g.sizes(g.integer(2, 3), 1, 4);
  for (int list = 0; list < 3; ++list) c.inputs.push_back(g.tensor(shape));
  return c.set("lr", 0.1).set("nesterov", g.chance()).choose("adjust", g.pick({"original", "matchRmsAdamw"}));
}

}  // namespace

void add_create_samples(SampleTable& t) {
  t["cast"] = cast;
  t["clone"] = [](Gen& g) { return Call("clone", {g.tensor(g.shape(0, 3), -2, 2, g.any_dtype())}); };
  t["full"] = full;
  t["arange"] = arange;
  t["uniform"] = uniform;
  t["normal"] = normal;
  t["randint"] = randint;
  t["randperm"] = randperm;
  t["copy_"] = copy_into;
  t["fill_"] = fill_into;
  t["sgdStep"] = sgd_step;
  t["adamStep"] = adam_step;
  t["adaptiveStep"] = adaptive_step;
  t["muonStep"] = muon_step;
}

}  // namespace omnigrad::test
