// Gradients held against central differences in float64: first, second and third order.
#pragma once

#include <functional>
#include <string>

#include "samples.h"

namespace omnigrad::test {

// From inputs to the outputs that have gradients.
using Function = std::function<TensorList(const TensorList&)>;

// A function of some of a call's inputs: the floating ones that its schema calls differentiable.
struct Differentiable {
  Function f;
  TensorList x;
  SmallVec<size_t, 8> places;  // of x among the call's inputs
};
Differentiable differentiable(const Call& call);

// Random cotangents for the outputs of f.
TensorList cotangents(const Function& f, const TensorList& x, Gen& gen);
// d<f(x), gy>/dx with fresh leaves; undefined where f does not depend on an x.
TensorList gradient(const Function& f, const TensorList& x, const TensorList& gy, bool create_graph = false);

// What is wrong, or an empty string. `x`: float64, contiguous; they are changed and put back.
std::string check_first_order(const Function& f, const TensorList& x, const TensorList& gy,
                              double tolerance = 1e-6);
// s = <df/dx(x, gy), v>: ds/dx and ds/dgy by differences of the first-order gradient.
std::string check_second_order(const Function& f, const TensorList& x, const TensorList& gy,
                               const TensorList& v, double tolerance = 1e-5);

// t = <d<df/dx(x, gy), v>/dx, w>: how dt/d(x, gy) agrees with a difference of second-order gradients along a
// random direction from `gen`. `greatest` grows to the greatest |dt/dx|: 0 where f is of second degree or
// piecewise so.
std::string check_third_order(const Function& f, const TensorList& x, const TensorList& gy,
                              const TensorList& v, const TensorList& w, Gen& gen, double& greatest,
                              double tolerance = 1e-5);

// f, with a vjp that is right but holds the value it uses of x[constant] as a constant: what a fused op does
// that saves a differentiable value. First order is f's, second order is not, if f is not linear there.
Function with_constant(const Function& f, size_t constant);

}  // namespace omnigrad::test
