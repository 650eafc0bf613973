#include "gradcheck.h"

#include <cmath>
#include <cstdint>

#include "compare.h"
#include "omnigrad/autograd.h"
#include "omnigrad/ops.h"

namespace omnigrad::test {
namespace {

TensorList leaves(const TensorList& x) {
  TensorList out;
  for (const Tensor& t : x) {
    out.push_back(t.detach());
    out.back().set_requires_grad(true);
  }
  return out;
}

double dot(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous(), y = b.contiguous();
  double s = 0;
  for (int64_t i = 0; i < x.numel(); ++i) s += element(x, i) * element(y, i);
  return s;
}
double dot(const TensorList& a, const TensorList& b) {
  double s = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].defined() && b[i].defined()) s += dot(a[i], b[i]);
  }
  return s;
}

// Holds ds/dx against central differences, x changed in place: all of its elements, or about `most`, evenly
// spread.
std::string compare(const char* what, size_t i, const std::function<double()>& s, const Tensor& x,
                    const Tensor& analytic, double tolerance, int64_t most = INT64_MAX) {
  constexpr double h = 1e-5;
  const Tensor given = analytic.defined() ? analytic : Tensor::zeros(x.shape(), DType::float64);
  const Tensor numeric = copy_of(given);
  const int64_t step = x.numel() / most + 1;
  for (int64_t k = x.numel() % step; k < x.numel(); k += step) {
    double& v = x.data<double>()[k];
    const double old = v;
    v = old + h;
    const double up = s();
    v = old - h;
    const double down = s();
    v = old;
    numeric.data<double>()[k] = (up - down) / (2 * h);
  }
  const double d = relative_difference(given, numeric);
  if (d <= tolerance) return {};
  return std::string(what) + " " + std::to_string(i) + " is off by " + text(d) + ": " + values(analytic) +
         ", by differences " + values(numeric) + "\n";
}

// Each difference of second order costs two gradients.
constexpr int64_t kMostSecond = 20;

// The gradients that depend on something, as roots of a further differentiation, with the cotangents v of
// them.
struct Roots {
  TensorList y, gy;
  Roots(const TensorList& gradients, const TensorList& v) {
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined() || !gradients[i].requires_grad()) continue;
      y.push_back(gradients[i]);
      gy.push_back(v[i]);
    }
  }
};

// d<df/dx(x, gy), v>/dx.
TensorList second_gradient(const Function& f, const TensorList& xs, const TensorList& gys,
                           const TensorList& v, bool create_graph) {
  GradMode on(true);
  const Roots first(grad(f(xs), xs, gys, {.create_graph = true, .allow_unused = true}), v);
  return grad(first.y, xs, first.gy, {.create_graph = create_graph, .allow_unused = true});
}

// x + step * direction, as fresh leaves.
TensorList moved(const TensorList& x, const TensorList& direction, double step) {
  GradMode off(false);
  TensorList out;
  for (size_t i = 0; i < x.size(); ++i) out.push_back(x[i] + direction[i] * step);
  return leaves(out);
}

}  // namespace

Differentiable differentiable(const Call& call) {
  Differentiable d;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Tensor& t = call.inputs[i];
    if (!t.defined() || !is_floating(t.dtype()) || !call.input(i).differentiable) continue;
    d.x.push_back(t);
    d.places.push_back(i);
  }
  d.f = [call, places = d.places](const TensorList& x) {
    TensorList inputs = call.inputs;
    for (size_t i = 0; i < places.size(); ++i) inputs[places[i]] = x[i];
    const TensorList all = call.run(inputs);
    const auto& infos = call.op().outputs;
    TensorList out;
    for (size_t i = 0; i < all.size(); ++i) {
      if (is_floating(all[i].dtype()) && infos[std::min(i, infos.size() - 1)].differentiable)
        out.push_back(all[i]);
    }
    return out;
  };
  return d;
}

TensorList cotangents(const Function& f, const TensorList& x, Gen& gen) {
  GradMode off(false);
  TensorList out;
  for (const Tensor& y : f(x)) out.push_back(gen.tensor(y.shape(), -1, 1, y.dtype()));
  return out;
}

TensorList gradient(const Function& f, const TensorList& x, const TensorList& gy, bool create_graph) {
  const TensorList xs = leaves(x);
  GradMode on(true);
  return grad(f(xs), xs, gy, {.create_graph = create_graph, .allow_unused = true});
}

std::string check_first_order(const Function& f, const TensorList& x, const TensorList& gy,
                              double tolerance) {
  const TensorList g = gradient(f, x, gy);
  const auto s = [&] {
    GradMode off(false);
    return dot(f(x), gy);
  };
  std::string wrong;
  for (size_t i = 0; i < x.size(); ++i) {
    wrong += compare("gradient of input", i, s, x[i], g[i], tolerance);
  }
  return wrong;
}

std::string check_second_order(const Function& f, const TensorList& x, const TensorList& gy,
                               const TensorList& v, double tolerance) {
  const TensorList xs = leaves(x), gys = leaves(gy);
  TensorList second(x.size() + gy.size());
  {
    GradMode on(true);
    const Roots first(grad(f(xs), xs, gys, {.create_graph = true, .allow_unused = true}), v);
    TensorList targets = xs;
    targets.append(gys.begin(), gys.end());
    second = grad(first.y, targets, first.gy, {.allow_unused = true});
  }
  const auto s = [&] { return dot(gradient(f, x, gy), v); };
  std::string wrong;
  for (size_t i = 0; i < x.size(); ++i) {
    wrong += compare("second order by input", i, s, x[i], second[i], tolerance, kMostSecond);
  }
  for (size_t i = 0; i < gy.size(); ++i) {
    wrong += compare("second order by cotangent", i, s, gy[i], second[x.size() + i], tolerance, kMostSecond);
  }
  return wrong;
}

std::string check_third_order(const Function& f, const TensorList& x, const TensorList& gy,
                              const TensorList& v, const TensorList& w, Gen& gen, double& greatest,
                              double tolerance) {
  const TensorList xs = leaves(x), gys = leaves(gy);
  TensorList targets = xs, direction;
  targets.append(gys.begin(), gys.end());
  const Roots second(second_gradient(f, xs, gys, v, true), w);
  const TensorList third = grad(second.y, targets, second.gy, {.allow_unused = true});
  double along = 0, scale = 1;
  for (size_t i = 0; i < targets.size(); ++i) {
    direction.push_back(gen.tensor(targets[i].shape(), -1, 1, DType::float64));
    if (!third[i].defined()) continue;
    along += dot(third[i], direction[i]);
    const Tensor t = third[i].contiguous();
    for (int64_t k = 0; k < t.numel(); ++k) {
      scale = std::max(scale, std::abs(element(t, k)));
      if (i < x.size()) greatest = std::max(greatest, std::abs(element(t, k)));
    }
  }
  constexpr double h = 3e-5;
  const auto t = [&](double step) {
    const TensorList shift_gy(direction.begin() + static_cast<ptrdiff_t>(x.size()), direction.end());
    return dot(second_gradient(f, moved(x, direction, step), moved(gy, shift_gy, step), v, false), w);
  };
  const double numeric = (t(h) - t(-h)) / (2 * h);
  if (std::abs(along - numeric) <= tolerance * scale) return {};
  return "third order along a direction is " + text(along) + ", by a difference " + text(numeric) + "\n";
}

Function with_constant(const Function& f, size_t constant) {
  return [=](const TensorList& x) {
    TensorList saved;
    for (const Tensor& t : x) saved.push_back(alias(t));
    saved[constant] = x[constant].detach().set_requires_grad(true);
    TensorList y;
    {
      GradMode off(false);
      y = f(x);
    }
    return record_external(x, y, [=](Cotangents g, const TensorList&, const TensorList&) {
      const bool recording = grad_enabled();
      GradMode on(true);
      TensorList ys, gys;
      const TensorList again = f(saved);
      for (size_t i = 0; i < again.size(); ++i) {
        if (!g[i].defined()) continue;
        ys.push_back(again[i]);
        gys.push_back(g[i]);
      }
      return grad(ys, saved, gys, {.create_graph = recording, .allow_unused = true});
    });
  };
}

}  // namespace omnigrad::test
