// Samples of matrix decompositions, systems, einsum and other products, Fourier transforms. Matrices are well
// away from singular ones and from equal eigenvalues.
#include <algorithm>
#include <cmath>
#include <limits>

#include "samples.h"

namespace omnigrad::test {
namespace {

Dims with(Dims batch, std::initializer_list<int64_t> rest) {
  batch.append(rest.begin(), rest.end());
  return batch;
}

// Small numbers, and 1.5, 3, 4.5 ... along the diagonal; every value one that float32 has.
Tensor matrix(Gen& g, const Dims& batch, int64_t m, int64_t n) {
  Tensor t = g.tensor(with(batch, {m, n}), -0.4, 0.4);
  visit_floating(t.dtype(), [&]<class T>() {
    for (int64_t i = 0; m * n > 0 && i < t.numel(); ++i) {
      const int64_t row = i / n % m, col = i % n;
      const double v =
          static_cast<double>(t.data<T>()[i]) + (row == col ? 1.5 * static_cast<double>(row + 1) : 0);
      t.data<T>()[i] = static_cast<T>(static_cast<float>(v));
    }
  });
  return t;
}
Tensor matrix(Gen& g) {
  const Dims batch = g.shape(0, 2, 2);
  const int64_t n = g.size(4);
  return matrix(g, batch, n, n);
}
Tensor rectangle(Gen& g) {
  const Dims batch = g.shape(0, 1, 2);
  const int64_t m = g.size(4), n = g.size(4);
  return matrix(g, batch, m, n);
}

Sampler of_matrix(const char* name) {
  return [=](Gen& g) { return Call(name, {matrix(g)}); };
}
Sampler of_rectangle(const char* name) {
  return [=](Gen& g) { return Call(name, {rectangle(g)}); };
}

Call cholesky(Gen& g) { return Call("cholesky", {matrix(g)}).set("upper", g.chance()); }

Call system(Gen& g, const char* name) {
  const Dims batch = g.shape(0, 2, 2), ba = g.broadcasting(batch), bb = g.broadcasting(batch);
  const int64_t n = g.size(4), k = g.size(3);
  const Tensor a = matrix(g, ba, n, n);
  return Call(name, {a, g.tensor(with(bb, {n, k}))});
}
Call solve(Gen& g) {
  if (g.chance(0.6)) return system(g, "solve");
  const Tensor a = matrix(g);
  const Dims all(a.shape().begin(), a.shape().end() - 1);
  return Call("solve", {a, g.tensor(g.chance() ? all : Dims{all.back()})});
}
Call triangular_solve(Gen& g) {
  return system(g, "triangularSolve")
      .set("upper", g.chance())
      .set("transpose", g.chance())
      .set("unitriangular", g.chance(0.3));
}
Call qr_tall(Gen& g) {
  const Dims batch = g.shape(0, 1, 2);
  const int64_t n = g.size(3), m = n + g.integer(0, 2);
  return Call("qrTall", {matrix(g, batch, m, n)});
}
Call matrix_norm(Gen& g) {
  const Dims batch = g.shape(0, 1, 2);
  const int64_t m = g.integer(1, 4), n = g.integer(1, 4);
  const Tensor x = matrix(g, batch, m, n);
  return Call("matrixNorm", {x}).set("ord", g.integer(0, 7)).set("keepdim", g.chance());
}
Call lstsq(Gen& g) {
  const Tensor a = rectangle(g);
  Dims b(a.shape().begin(), a.shape().end() - 1);
  b.push_back(g.size(3));
  return Call("lstsq", {a, g.tensor(b)});
}

Call einsum(Gen& g) {
  const int64_t i = g.size(3), j = g.size(3), k = g.size(3), l = g.size(3);
  const auto call = [&](const char* equation, std::initializer_list<Dims> shapes) {
    TensorList x;
    for (const Dims& s : shapes) x.push_back(g.tensor(s));
    return Call("einsum", x).set("equation", std::string(equation));
  };
  switch (g.integer(0, 13)) {
    case 0:
      return call("ij,jk->ik", {{i, j}, {j, k}});
    case 1:
      return call("ij,jk", {{i, j}, {j, k}});
    case 2:
      return call("ii->i", {{i, i}});
    case 3:
      return call("ii", {{i, i}});
    case 4:
      return call("jiji->ij", {{j, i, j, i}});
    case 5:
      return call("ij,jk,kl->li", {{i, j}, {j, k}, {k, l}});
    case 6:
      return call("...ij,...jk->...ik", {{l, 1, i, j}, {2, j, k}});
    case 7:
      return call("i...->...", {{i, j, k}});
    case 8:
      return call("ij, ij -> i", {{i, j}, {i, j}});
    case 9:
      return call("i,j,k->kji", {{i}, {j}, {k}});
    case 10:
      return call("ij,ik->", {{i, j}, {i, k}});
    case 11:
      return call("bi,bii,i->b", {{l, i}, {l, i, i}, {1}});
    case 12:
      return call(",ij->ij", {{}, {i, j}});
    default:
      return call("ba", {{i, j}});
  }
}

Call bmm(Gen& g) {
  const int64_t b = g.size(3), m = g.size(3), k = g.size(3), n = g.size(3);
  return Call("bmm", {g.tensor({b, m, k}), g.tensor({b, k, n})});
}
Call dot(Gen& g) {
  const int64_t n = g.size(5);
  return Call("dot", {g.tensor({n}), g.tensor({n})});
}
Call outer(Gen& g) {
  const int64_t m = g.size(4), n = g.size(4);
  const DType t = g.number_dtype();
  return Call("outer", {g.tensor({m}, -2, 2, t), g.tensor({n}, -2, 2, t)});
}
Call cross(Gen& g) {
  Dims shape = g.shape(1, 3, 3);
  const int64_t dim = g.dim_of(shape), at = dim < 0 ? dim + static_cast<int64_t>(shape.size()) : dim;
  shape[static_cast<size_t>(at)] = 3;
  Dims other = shape;
  for (size_t i = 0; i < other.size(); ++i) {
    if (static_cast<int64_t>(i) != at && g.chance(0.2)) other[i] = 1;
  }
  return Call("cross", {g.tensor(shape), g.tensor(other)}).set("dim", dim);
}
Call bilinear(Gen& g) {
  const Dims batch = g.shape(0, 2, 3);
  const int64_t m = g.size(3), n = g.size(3), out = g.size(3);
  return Call("bilinear", {g.tensor(with(batch, {m})), g.tensor(with(batch, {n})), g.tensor({out, m, n}),
                           g.chance() ? g.tensor({out}) : Tensor()});
}
Call addmm(Gen& g) {
  const Dims batch = g.shape(0, 1, 3);
  const int64_t m = g.size(3), k = g.size(3), n = g.size(3);
  const Dims z = g.broadcasting(with(batch, {m, n}));
  return Call("addmm", {g.tensor(z), g.tensor(with(batch, {m, k})), g.tensor({k, n})})
      .set("beta", g.real(-1, 1))
      .set("alpha", g.real(-1, 1));
}
Call cosine_similarity(Gen& g) {
  const Dims shape = g.sizes(g.integer(1, 3), 1, 4);
  return Call("cosineSimilarity", {g.tensor(shape, 0.2, 2), g.tensor(shape, -2, 2)})
      .set("dim", g.dim_of(shape));
}
// Points that differ in every coordinate, by amounts that differ too.
TensorList points(Gen& g, const Dims& a, const Dims& b) { return {g.distinct(a), g.distinct(b, 0.05)}; }
Call euclidean(Gen& g) {
  const Dims batch = g.shape(0, 2, 2);
  const int64_t p = g.size(3), r = g.size(3), m = g.size(4);
  return Call("euclideanDistance", points(g, with(batch, {p, m}), with(batch, {r, m})));
}
Call cdist(Gen& g) {
  const Dims batch = g.shape(0, 2, 2), ba = g.broadcasting(batch), bb = g.broadcasting(batch);
  const int64_t p = g.size(3), r = g.size(3), m = g.size(3);
  const double infinity = std::numeric_limits<double>::infinity();
  const double orders[] = {2, 2, 1, 3, 1.5, 0.5, 0, infinity};
  // With the largest coordinate equal in two axes, Infinity has no derivative: one axis is enough there.
  const double order = orders[g.integer(0, 7)];
  const int64_t width = std::isinf(order) && g.smooth ? 1 : m;
  return Call("cdist", points(g, with(ba, {p, width}), with(bb, {r, width}))).set("p", order);
}

Call dft(Gen& g) {
  const Dims axes = g.shape(1, 3, 7);
  return Call("dft", {g.tensor(with(axes, {2}))})
      .set("dim", g.integer(0, static_cast<int64_t>(axes.size()) - 1))
      .set("inverse", g.chance())
      .set("scale", g.real(0.2, 2));
}
Sampler one_axis(const char* name, bool real, bool to_real) {
  return [=](Gen& g) {
    const Dims axes = g.sizes(g.integer(1, 3), to_real ? 2 : 1, g.chance(0.1) ? 60 : 9);
    Call c(name, {g.tensor(real ? axes : with(axes, {2}))});
    c.set("dim", g.dim_of(axes)).set("norm", g.integer(0, 2));
    if (g.chance()) c.set("n", g.integer(1, 12));
    return c;
  };
}
Sampler several_axes(const char* name, bool real, bool to_real) {
  return [=](Gen& g) {
    const Dims axes = g.sizes(g.integer(2, 3), to_real ? 2 : 1, 5);
    Call c(name, {g.tensor(real ? axes : with(axes, {2}))});
    c.set("norm", g.integer(0, 2));
    if (g.chance()) c.set("dim", g.chance() ? Dims{-1, 0} : Dims{1});
    if (g.chance())
      c.set("s", Dims(std::holds_alternative<Dims>(c.get("dim")) ? std::get<Dims>(c.get("dim")).size() : 2,
                      g.integer(1, 6)));
    return c;
  };
}

}  // namespace

void add_linalg_samples(SampleTable& t) {
  for (const char* name : {"inverse", "det", "slogdet", "eigh"}) t[name] = of_matrix(name);
  for (const char* name : {"qr", "svd", "pinv"}) t[name] = of_rectangle(name);
  t["cholesky"] = cholesky;
  t["solve"] = solve;
  t["solveMatrix"] = [](Gen& g) { return system(g, "solveMatrix"); };
  t["triangularSolve"] = triangular_solve;
  t["qrTall"] = qr_tall;
  t["matrixNorm"] = matrix_norm;
  t["lstsq"] = lstsq;
  t["einsum"] = einsum;
  t["bmm"] = bmm;
  t["dot"] = dot;
  t["outer"] = outer;
  t["cross"] = cross;
  t["bilinear"] = bilinear;
  t["addmm"] = addmm;
  t["cosineSimilarity"] = cosine_similarity;
  t["euclideanDistance"] = euclidean;
  t["cdist"] = cdist;
  t["dft"] = dft;
  for (const char* name : {"fft", "ifft"}) t[name] = one_axis(name, false, false);
  t["rfft"] = one_axis("rfft", true, false);
  t["irfft"] = one_axis("irfft", false, true);
  for (const char* name : {"fft2", "ifft2", "fftn", "ifftn"}) t[name] = several_axes(name, false, false);
  for (const char* name : {"rfft2", "rfftn"}) t[name] = several_axes(name, true, false);
  for (const char* name : {"irfft2", "irfftn"}) t[name] = several_axes(name, false, true);
}

}  // namespace omnigrad::test
