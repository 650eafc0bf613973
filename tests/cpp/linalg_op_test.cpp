// Systems, decompositions, einsum, distances: values from PyTorch, what defines a factorization, errors that
// name the matrix, and gradients where a formula is easily wrong: singular, coincident, repeated.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "omnigrad/autograd.h"
#include "omnigrad/ops.h"
#include "support/gradcheck.h"

namespace omnigrad::test {
namespace {

Tensor of(const Dims& shape, std::vector<double> v) { return Tensor::from<double>(shape, v.data()); }
Tensor leaf(const Dims& shape, std::vector<double> v) {
  return of(shape, std::move(v)).set_requires_grad(true);
}
std::vector<double> list(const Tensor& t) {
  const Tensor c = cast(t, DType::float64).contiguous();
  return {c.data<double>(), c.data<double>() + c.numel()};
}
void expect_near(const Tensor& t, const std::vector<double>& expected, double tolerance = 1e-11) {
  const std::vector<double> got = list(t);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], tolerance) << i;
}
void expect_same(const Tensor& a, const Tensor& b, double tolerance = 1e-11) {
  ASSERT_EQ(a.shape(), b.shape());
  expect_near(a, list(b), tolerance);
}
Tensor flipped(const Tensor& x) { return transpose(x, -2, -1); }
Tensor eye(int64_t n) {
  Tensor t = Tensor::zeros({n, n}, DType::float64);
  for (int64_t i = 0; i < n; ++i) t.data<double>()[i * (n + 1)] = 1;
  return t;
}
Tensor run(const char* op, TensorList in) { return Call(op, std::move(in)).run()[0]; }
Error error_of(const Call& call) {
  try {
    call.run();
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << call.text() << " is no error";
  return Error(Code::state, "");
}

const std::vector<double> kTall{1, 2, 3, 4, 5, 6};

TEST(Linalg, ErrorsNameTheFirstMatrixThatFails) {
  const Tensor good = of({2, 2}, {2, 1, 1, 3}), flat = of({2, 2}, {1, 2, 2, 4});
  Tensor batch = reshape(cat({good, flat, good, flat}, 0), {4, 2, 2});
  for (const char* op : {"inverse", "cholesky"}) {
    const Error e = error_of(Call(op, {batch}));
    EXPECT_EQ(e.code, Code::numeric);
    EXPECT_EQ(e.op, op);
    EXPECT_NE(e.message.find("matrix 1 of the batch"), std::string::npos) << e.message;
  }
  EXPECT_NE(error_of(Call("inverse", {flat})).message.find("the matrix is singular"), std::string::npos);
  EXPECT_EQ(error_of(Call("solve", {batch, of({2}, {1, 2})})).op, "solve");
  EXPECT_EQ(error_of(Call("triangularSolve", {of({2, 2}, {1, 2, 0, 0}), of({2, 1}, {1, 2})})).code,
            Code::numeric);
  EXPECT_EQ(error_of(Call("det", {of({2, 3}, kTall)})).code, Code::shape);
}

TEST(Linalg, SolveTakesVectorsByPyTorchsRule) {
  const Tensor a = of({2, 2, 2}, {2, 0, 0, 4, 1, 0, 0, 5});
  expect_near(run("solve", {a, of({2}, {2, 20})}), {1, 5, 2, 4});
  expect_near(run("solve", {a, of({2, 2}, {2, 20, 3, 5})}), {1, 5, 3, 1});  // a vector for each matrix
  EXPECT_EQ(run("solve", {a, of({2, 3}, kTall)}).shape(), (Dims{2, 2, 3}));
}

TEST(Linalg, TriangularSolveReadsItsTriangleOnly) {
  const Tensor a = of({3, 3}, {4, 1, 2, 1, 3, 0.5, 2, 0.5, 5}), b = of({3, 1}, {1, 2, 3});
  expect_near(Call("triangularSolve", {a, b}).set("transpose", true).run()[0],
              {0.25, 0.583333333333, 0.441666666667});
  const Tensor unit = Call("triangularSolve", {a, b}).set("upper", false).set("unitriangular", true).run()[0];
  expect_near(unit, {1, 1, 0.5});
}

TEST(Linalg, QrHasTheSignsOfLapack) {
  TensorList f = Call("qr", {of({3, 2}, kTall)}).run();
  expect_near(f[0], {-0.169030850946, 0.897085227145, -0.507092552837, 0.276026223737, -0.845154254729,
                     -0.345032779671});
  expect_near(f[1], {-5.9160797831, -7.437357441611, 0, 0.828078671211});
  f = Call("qr", {of({2, 3}, {1, 2, 3, 4, 5, 7})}).run();
  expect_near(f[0], {-0.242535625036, -0.970142500145, -0.970142500145, 0.242535625036});
  expect_near(f[1], {-4.123105625618, -5.335783750799, -7.518604376126, 0, -0.727606875109, -1.212678125182});
  f = Call("qr", {of({2, 2}, {2, 1, 0, -3})}).run();
  expect_near(f[1], {2, 1, 0, -3});
}

TEST(Linalg, EighAndSvdGiveTheirDefinition) {
  const Tensor a = of({3, 3}, {4, 1, 2, 1, 3, 0.5, 2, 0.5, 5});
  TensorList f = Call("eigh", {a}).run();
  expect_near(f[0], {2.096521617297, 3.072223952005, 6.831254430698});
  expect_same(matmul(f[1] * f[0], flipped(f[1])), a);
  expect_same(matmul(flipped(f[1]), f[1]), eye(3));
  expect_near(Call("svd", {of({3, 2}, kTall)}).run()[1], {9.525518091565, 0.514300580659});

  Gen g(5, DType::float64, true);
  for (const Dims& shape : {Dims{2, 7, 4}, Dims{4, 7}, Dims{1, 5}, Dims{5, 1}, Dims{40, 40}, Dims{3, 0}}) {
    const Tensor x = g.tensor(shape);
    f = Call("svd", {x}).run();
    expect_same(matmul(f[0] * unsqueeze(f[1], f[1].rank() - 1), f[2]), x, 1e-12 * 40);
    const std::vector<double> s = list(f[1]);
    for (size_t i = 1; i < std::min<size_t>(s.size(), 4); ++i) EXPECT_GE(s[i - 1], s[i]);
  }
  const Tensor big = g.tensor({60, 60}), symmetric = big + flipped(big);
  f = Call("eigh", {symmetric}).run();
  expect_same(matmul(f[1] * f[0], flipped(f[1])), symmetric, 1e-11);
}

TEST(Linalg, VectorsOfVanishingSingularValuesAreOrthonormal) {
  for (const Tensor& x :
       {of({4, 3}, {1, 2, 3, 2, 4, 6, 3, 6, 9, 4, 8, 12}), Tensor::zeros({4, 3}, DType::float64)}) {
    const TensorList f = Call("svd", {x}).run();
    expect_same(matmul(flipped(f[0]), f[0]), eye(3));
    expect_same(matmul(f[2], flipped(f[2])), eye(3));
    expect_same(matmul(f[0] * f[1], f[2]), x);
  }
}

TEST(Linalg, ScaleDoesNotMatter) {
  const Tensor x = of({3, 2}, kTall);
  for (double scale : {1e-200, 1e-30, 1e30, 1e150}) {
    const TensorList f = Call("svd", {x * scale}).run();
    expect_near(f[1] * (1 / scale), {9.525518091565, 0.514300580659});
    expect_near(run("qr", {x * scale}), list(run("qr", {x})));
  }
}

TEST(Linalg, NanComesThrough) {
  const double nan = std::nan("");
  for (const char* op : {"svd", "eigh", "det", "inverse", "slogdet", "qr"}) {
    bool found = false;
    for (const Tensor& t : Call(op, {of({2, 2}, {nan, nan, nan, nan})}).run()) {
      for (double v : list(t)) found |= std::isnan(v);
    }
    EXPECT_TRUE(found) << op;
  }
}

// det is a polynomial: its gradient is the transposed adjugate at every matrix, and so on.
TEST(Linalg, DetHasDerivativesWhereItIsSingular) {
  const Tensor x = leaf({3, 3}, {1, 2, 3, 2, 4, 6, 1, 0, 1});
  const Tensor g = grad({run("det", {x})}, {x}, {}, {.create_graph = true})[0];
  expect_near(g, {4, 4, -4, -2, -2, 2, 0, 0, 0});
  const Tensor w = reshape(arange(0, 9, 1, DType::float64), {3, 3});
  expect_near(grad({sum(g * w)}, {x})[0], {-6, 22, -14, 4, -12, 6, -4, 8, -4});

  // Rank 0 of 3 and rank 1 of 4 against differences, up to the second order.
  const Function f = [](const TensorList& in) { return TensorList{run("det", in)}; };
  Gen gen(3, DType::float64, true);
  Tensor ones4 = Tensor::zeros({4, 4}, DType::float64);
  for (int i = 0; i < 16; ++i) ones4.data<double>()[i] = i % 4 + 1;
  for (const Tensor& m :
       {Tensor::zeros({3, 3}, DType::float64), ones4, Tensor::zeros({2, 2}, DType::float64)}) {
    EXPECT_EQ(check_first_order(f, {m}, {of({}, {1.5})}), "");
    EXPECT_EQ(check_second_order(f, {m}, {of({}, {1.5})}, {gen.tensor(m.shape())}), "");
  }
  // d^2 det / da dd = 1 for [[a, b], [c, d]] = 0.
  const Tensor zero = leaf({2, 2}, {0, 0, 0, 0});
  const Tensor first = grad({run("det", {zero})}, {zero}, {}, {.create_graph = true})[0];
  expect_near(grad({sum(first * of({2, 2}, {0, 0, 0, 1}))}, {zero})[0], {1, 0, 0, 0});
  // A batch of a regular matrix and a singular one.
  const Tensor both = leaf({2, 2, 2}, {1, 2, 3, 4, 1, 2, 2, 4});
  expect_near(grad({sum(run("det", {both}))}, {both})[0], {4, -3, -2, 1, 4, -2, -2, 1});
}

TEST(Linalg, SlogdetOfSingularMatricesIsMinusInfinity) {
  const TensorList f = Call("slogdet", {of({2, 2, 2}, {1, 2, 2, 4, -4, 0, 0, 2})}).run();
  EXPECT_EQ(list(f[0]), (std::vector<double>{0, -1}));
  EXPECT_EQ(list(f[1])[0], -std::numeric_limits<double>::infinity());
  EXPECT_NEAR(list(f[1])[1], std::log(8), 1e-15);
  EXPECT_FALSE(f[0].requires_grad());
}

TEST(Linalg, EqualEigenvaluesGiveFiniteGradients) {
  const Tensor x = leaf({3, 3}, {2, 0, 0, 0, 2, 0, 0, 0, 2});
  const TensorList f = Call("eigh", {x}).run();
  expect_near(grad({sum(square(f[0]))}, {x})[0], {4, 0, 0, 0, 4, 0, 0, 0, 4});
  const Tensor y = leaf({2, 2}, {1, 0, 0, 1});
  const TensorList s = Call("svd", {y}).run();
  for (double v : list(grad({sum(s[0]) + sum(s[1])}, {y})[0])) EXPECT_TRUE(std::isfinite(v));
  expect_near(grad({Call("matrixNorm", {y}).choose("ord", "nuc").run()[0]}, {y})[0], {1, 0, 0, 1});
}

// Third order: the gradient of each is a function whose gradients of two orders meet differences.
TEST(Linalg, ThirdOrder) {
  for (const char* op : {"inverse", "solve", "triangularSolve", "cholesky", "det", "slogdet", "qr", "eigh",
                         "svd", "pinv", "einsum", "cdist", "cosineSimilarity", "irfft"}) {
    for (uint64_t seed = 0; seed < 2; ++seed) {
      const Differentiable d = differentiable(sample(op, seed, DType::float64, true));
      Gen gen(seed + 9, DType::float64, true);
      const TensorList gy = cotangents(d.f, d.x, gen);
      const Function gradients = [&](const TensorList& in) {
        TensorList xs;
        for (const Tensor& t : in) xs.push_back(t.requires_grad() ? t : t.detach().set_requires_grad(true));
        return grad(d.f(xs), xs, gy, {.create_graph = true});
      };
      TensorList gg, v;
      for (const Tensor& t : d.x) {
        gg.push_back(gen.tensor(t.shape(), -1, 1));
        v.push_back(gen.tensor(t.shape(), -1, 1));
      }
      EXPECT_EQ(check_second_order(gradients, d.x, gg, v, 1e-4), "") << op << seed;
    }
  }
}

TEST(Linalg, MatrixNorms) {
  const Tensor x = of({3, 2}, kTall);
  const auto norm = [&](const char* ord) {
    return Call("matrixNorm", {x}).choose("ord", ord).run()[0].item();
  };
  EXPECT_NEAR(norm("fro"), std::sqrt(91.0), 1e-12);
  EXPECT_NEAR(norm("nuc"), 10.039818672224, 1e-11);
  EXPECT_EQ(norm("1"), 12);
  EXPECT_EQ(norm("-1"), 9);
  EXPECT_EQ(norm("inf"), 11);
  EXPECT_EQ(norm("-inf"), 3);
  EXPECT_NEAR(norm("2"), 9.525518091565, 1e-11);
  EXPECT_NEAR(norm("-2"), 0.514300580659, 1e-11);
  const Tensor zero = leaf({2, 2}, {0, 0, 0, 0});
  expect_near(grad({run("matrixNorm", {zero})}, {zero})[0], {0, 0, 0, 0});
}

TEST(Linalg, PinvAndLstsqOfDependentColumns) {
  const Tensor x = of({3, 2}, {1, 2, 2, 4, 3, 6});
  expect_near(run("pinv", {x}), {0.014285714286, 0.028571428571, 0.042857142857, 0.028571428571,
                                 0.057142857143, 0.085714285714});
  expect_near(run("lstsq", {x, of({3, 1}, {1, 2, 3})}), {0.2, 0.4});
}

TEST(Linalg, CdistHasPyTorchsValuesAndGradients) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor x1 = leaf({2, 2}, {0, 0, 1, 2}), x2 = of({3, 2}, {3, 4, 1, 2, 0.5, -1});
  struct Row {
    double p;
    std::vector<double> y, g;
  };
  // Where coordinates tie for p = Infinity they share the gradient, as in amax.
  for (const Row& r : std::initializer_list<Row>{
           {0, {2, 2, 2, 2, 0, 2}, {0, 0, 0, 0}},
           {0.5,
            {13.928203230276, 5.828427124746, 2.914213562373, 8, 0, 5.949489742783},
            {-6.983127663125, -1.866025403784, 1.449489742783, -0.591751709536}},
           {1, {7, 3, 1.5, 4, 0, 3.5}, {-3, -1, 0, 0}},
           {1.5,
            {5.58425037648, 2.447260814771, 1.223630407386, 3.174802103936, 0, 3.134584449046},
            {-2.011424491559, -0.846345237248, -0.394312523325, 0.184596289921}},
           {2,
            {5, 2.2360679775, 1.11803398875, 2.828427124746, 0, 3.041381265149},
            {-1.494427191, -0.8, -0.542707793881, 0.279287142646}},
           {3,
            {4.497941445275, 2.080083823052, 1.040041911526, 2.51984209979, 0, 3.004622503459},
            {-0.907092201298, -0.790846847521, -0.602268151644, 0.366964913988}},
           {infinity, {4, 2, 1, 2, 0, 3}, {0, -1, -0.5, 0.5}}}) {
    const Tensor y = Call("cdist", {x1, x2}).set("p", r.p).run()[0];
    expect_near(y, r.y);
    const Tensor g = grad({sum(y)}, {x1}, {}, {.create_graph = true})[0];
    expect_near(g, r.g);
    const Tensor second = grad({sum(square(g))}, {x1}, {}, {.allow_unused = true})[0];
    if (second) {
      for (double v : list(second)) EXPECT_TRUE(std::isfinite(v)) << r.p;
    }
  }
}

TEST(Linalg, CosineSimilarityOfZeroIsZeroWithAGradient) {
  const Tensor a = leaf({2, 2}, {0, 0, 1, 2}), b = of({2, 2}, {1, 1, 3, 1});
  const Tensor y = run("cosineSimilarity", {a, b});
  expect_near(y, {0, 0.707106781187});
  for (double v : list(grad({sum(y)}, {a})[0])) EXPECT_TRUE(std::isfinite(v));
}

TEST(Linalg, CrossAndOuter) {
  expect_near(run("cross", {of({3}, {1, 2, 3}), of({3}, {4, 5, -6})}), {-27, 18, -3});
  expect_near(run("outer", {of({2}, {1, 2}), of({3}, {3, 4, 5})}), {3, 4, 5, 6, 8, 10});
}

Tensor einsum(const char* equation, TensorList x) {
  return Call("einsum", std::move(x)).set("equation", std::string(equation)).run()[0];
}

TEST(Einsum, Forms) {
  const Tensor a = of({2, 3}, {1, 2, 3, 4, 5, 6}), s = of({2, 2}, {1, 2, 3, 4});
  expect_near(einsum("ii", {s}), {5});
  expect_near(einsum("ii->i", {s}), {1, 4});
  expect_near(einsum("ij->", {a}), {21});
  expect_near(einsum("ij->j", {a}), {5, 7, 9});
  expect_near(einsum("ba", {a}), {1, 4, 2, 5, 3, 6});  // the letters sorted
  expect_near(einsum("ij, kj", {a, a}), {14, 32, 32, 77});
  expect_near(einsum("i,j->ij", {of({2}, {1, 2}), of({2}, {3, 4})}), {3, 4, 6, 8});
  expect_near(einsum("ij,ij->ij", {s, s}), {1, 4, 9, 16});
  expect_near(einsum("...,...->...", {s, of({1, 2}, {10, 100})}), {10, 200, 30, 400});
  expect_near(einsum("...i->...", {reshape(a, {1, 2, 3})}), {6, 15});
  expect_near(einsum("ij,jk,kl->il", {s, s, s}), {37, 54, 81, 118});
  expect_near(einsum(",i->i", {of({}, {3}), of({2}, {1, 2})}), {3, 6});
  EXPECT_EQ(einsum("bij,bjk->bik",
                   {Tensor::zeros({0, 2, 3}, DType::float64), Tensor::zeros({0, 3, 4}, DType::float64)})
                .shape(),
            (Dims{0, 2, 4}));
  expect_near(
      einsum("ij,jk->ik", {Tensor::zeros({1, 0}, DType::float64), Tensor::zeros({0, 2}, DType::float64)}),
      {0, 0});
}

TEST(Einsum, MistakesAreNamed) {
  const Tensor a = of({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto message = [&](const char* equation, TensorList x) {
    return error_of(Call("einsum", std::move(x)).set("equation", std::string(equation))).message;
  };
  EXPECT_NE(message("ij,jk", {a}).find("more terms"), std::string::npos);
  EXPECT_NE(message("ij", {a, a}).find("fewer terms"), std::string::npos);
  EXPECT_NE(message("i", {a}).find("names 1 axes, its operand has 2"), std::string::npos);
  EXPECT_NE(message("ii", {a}).find("axes of one size, got 2 and 3"), std::string::npos);
  EXPECT_NE(message("ij->k", {a}).find("no operand has"), std::string::npos);
  EXPECT_NE(message("ij->ii", {a}).find("twice"), std::string::npos);
  EXPECT_NE(message("ij,ij", {a, transpose(a, 0, 1)}).find("size 2 in one operand and 3"), std::string::npos);
  EXPECT_NE(message("i.j", {a}).find("'...'"), std::string::npos);
  EXPECT_NE(message("i1", {a}).find("letters"), std::string::npos);
}

}  // namespace
}  // namespace omnigrad::test
