// Samples of statistics and scans.
#include <limits>

#include "samples.h"

namespace omnigrad::test {
namespace {

Dims axes(Gen& g, const Dims& shape) {
  Dims out;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i) {
    if (g.chance()) out.push_back(g.chance() ? i : i - static_cast<int64_t>(shape.size()));
  }
  return out;
}
Call over_axes(Gen& g, const char* name, Tensor x) {
  const Dims dims = axes(g, x.shape());
  return Call(name, {std::move(x)}).set("dim", dims).set("keepdim", g.chance());
}

// Two elements or more in each.
Sampler spread(const char* name) {
  return [=](Gen& g) {
    Call c = over_axes(g, name, g.tensor(g.sizes(g.integer(1, 3), 2, 4)));
    return c.set("correction", g.pick({0.0, 1.0}));
  };
}
Call norm(Gen& g) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  // No two of one magnitude, none 0.
  Call c = over_axes(g, "norm", g.distinct(g.sizes(g.integer(0, 3), 1, 4), 0.02));
  return c.set("p", g.pick({2.0, 1.0, 3.0, 2.5, infinity, -infinity, 0.0}));
}
Sampler decision(const char* name) {
  return [=](Gen& g) { return over_axes(g, name, g.tensor(g.shape(0, 3), -1, 1, g.any_dtype())); };
}

Sampler scan(const char* name, bool distinct) {
  return [=](Gen& g) {
    const Dims shape = g.shape(1, 3, 5);
    return Call(name, {g.smooth && distinct ? g.distinct(shape) : g.number(shape)})
        .set("dim", g.dim_of(shape));
  };
}

}  // namespace

void add_statistics_samples(SampleTable& t) {
  for (const char* name : {"var", "std"}) t[name] = spread(name);
  t["norm"] = norm;
  t["logsumexp"] = [](Gen& g) { return over_axes(g, "logsumexp", g.tensor(g.sizes(g.integer(0, 3), 1, 4))); };
  t["prod"] = [](Gen& g) {
    return over_axes(g, "prod", g.smooth ? g.away(g.shape(0, 3, 3)) : g.number(g.shape(0, 3)));
  };
  for (const char* name : {"any", "all"}) t[name] = decision(name);
  for (const char* name : {"cumsum", "cumprod"}) t[name] = scan(name, false);
  for (const char* name : {"cummax", "cummin"}) t[name] = scan(name, true);
}

}  // namespace omnigrad::test
