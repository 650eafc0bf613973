// Samples of matrix products and convolutions.
#include <algorithm>

#include "samples.h"

namespace omnigrad::test {
namespace {

Call matmul(Gen& g) {
  const int64_t m = g.size(4), k = g.size(5), n = g.size(4);
  const Dims batch = g.shape(0, 2, 3);
  const bool left_vector = g.chance(0.2), right_vector = g.chance(0.2);
  Dims a = left_vector ? Dims{} : g.broadcasting(batch), b = right_vector ? Dims{} : g.broadcasting(batch);
  if (!left_vector) a.push_back(m);
  a.push_back(k);
  b.push_back(k);
  if (!right_vector) b.push_back(n);
  return Call("matmul", {g.tensor(a), g.tensor(b)});
}

Call linear(Gen& g) {
  Dims x = g.shape(0, 3, 3);
  const int64_t in = g.size(5), out = g.size(5);
  x.push_back(in);
  return Call("linear", {g.tensor(x), g.tensor({out, in}), g.chance() ? g.tensor({out}) : Tensor()});
}

Sampler linear_activation(const char* name) {
  return [=](Gen& g) { return Call(name, linear(g).inputs).set("activation", g.integer(0, 4)); };
}

Dims concat(int64_t a, int64_t b, const Dims& rest) {
  Dims d{a, b};
  d.append(rest.begin(), rest.end());
  return d;
}

// Sizes of a convolution in which every window fits.
struct Sizes {
  int64_t batch, groups, in, out;
  Dims size, kernel, stride, dilation, padding, positions;

  explicit Sizes(Gen& g) {
    const int64_t axes = g.pick<int64_t>({1, 1, 2, 2, 2, 3, g.chance(0.1) ? 5 : 2});
    const int64_t most = axes > 2 ? 2 : 3;
    batch = g.integer(1, 2);
    groups = g.integer(1, 2);
    in = groups * g.integer(1, 2);
    out = groups * g.integer(1, 2);
    kernel = g.sizes(axes, 1, most);
    stride = g.sizes(axes, 1, most);
    dilation = g.sizes(axes, 1, 2);
    padding = g.sizes(2 * axes, 0, axes > 2 ? 1 : 2);
    for (size_t i = 0; i < kernel.size(); ++i) {
      const int64_t around = padding[2 * i] + padding[2 * i + 1], reach = dilation[i] * (kernel[i] - 1) + 1;
      size.push_back(std::max<int64_t>(reach - around, 1) + g.integer(0, axes > 2 ? 1 : 4));
      positions.push_back((size[i] + around - reach) / stride[i] + 1);
    }
  }
  Call& set(Call& c) const {
    return c.set("stride", stride)
        .set("padding", Padding{padding, true})
        .set("dilation", dilation)
        .set("groups", groups);
  }
  Dims x() const { return concat(batch, in, size); }
  Dims y() const { return concat(batch, out, positions); }
  Dims weight() const { return concat(out, in / groups, kernel); }
};

Call conv(Gen& g) {
  const Sizes s(g);
  Call c("conv", {g.tensor(s.x()), g.tensor(s.weight()), g.chance() ? g.tensor({s.out}) : Tensor()});
  return s.set(c);
}
Call conv_input_grad(Gen& g) {
  const Sizes s(g);
  Call c("convInputGrad", {g.tensor(s.y()), g.tensor(s.weight())});
  return s.set(c).set("size", s.size);
}
Call conv_weight_grad(Gen& g) {
  const Sizes s(g);
  Call c("convWeightGrad", {g.tensor(s.y()), g.tensor(s.x())});
  return s.set(c).set("size", s.kernel);
}
Call conv_transpose(Gen& g) {
  Sizes s(g);
  Dims extra;
  for (size_t i = 0; i < s.kernel.size(); ++i) {
    extra.push_back(g.integer(0, std::max(s.stride[i], s.dilation[i]) - 1));
    // The output keeps an element.
    const int64_t full =
        (s.positions[i] - 1) * s.stride[i] + s.dilation[i] * (s.kernel[i] - 1) + 1 + extra[i];
    if (full - s.padding[2 * i] - s.padding[2 * i + 1] < 1) s.padding[2 * i] = s.padding[2 * i + 1] = 0;
  }
  Call c("convTranspose", {g.tensor(s.y()), g.tensor(s.weight()), g.chance() ? g.tensor({s.in}) : Tensor()});
  return s.set(c).set("outputPadding", extra);
}

// Sampling points lie between pixels, inside the image and around it.
struct DeformSizes {
  Dims x, offset, weight, mask, y, stride, padding, dilation;
  int64_t groups, offset_groups, out;

  explicit DeformSizes(Gen& g) {
    const int64_t axes = g.pick<int64_t>({1, 2, 2, 3}), most = axes == 3 ? 2 : 3;
    groups = g.integer(1, 2);
    const int64_t in = 2 * groups, batch = g.integer(1, 2);
    offset_groups = g.integer(1, 2);
    out = groups * g.integer(1, 2);
    const Dims kernel = g.sizes(axes, 1, 2);
    stride = g.sizes(axes, 1, 2), padding = g.sizes(axes, 0, 1), dilation = g.sizes(axes, 1, 2);
    Dims size, positions;
    for (size_t i = 0; i < kernel.size(); ++i) {
      const int64_t reach = dilation[i] * (kernel[i] - 1) + 1;
      size.push_back(std::max<int64_t>(reach - 2 * padding[i], 1) + g.integer(0, most - 1));
      positions.push_back((size[i] + 2 * padding[i] - reach) / stride[i] + 1);
    }
    const int64_t taps = product(kernel);
    x = concat(batch, in, size), y = concat(batch, out, positions), weight = concat(out, in / groups, kernel);
    offset = concat(batch, offset_groups * taps * axes, positions);
    mask = concat(batch, offset_groups * taps, positions);
  }
  Tensor offsets(Gen& g) const {
    Tensor t = g.tensor(offset, 0.2, 0.8);
    if (!g.smooth && g.chance()) return g.tensor(offset, -3, 3);
    visit_floating(t.dtype(), [&]<class T>() {
      for (int64_t i = 0; i < t.numel(); ++i)
        t.data<T>()[i] =
            static_cast<T>(static_cast<float>(t.data<T>()[i] + static_cast<T>(g.integer(-2, 1))));
    });
    return t;
  }
  Call& set(Call& c) const {
    return c.set("stride", stride)
        .set("padding", padding)
        .set("dilation", dilation)
        .set("groups", groups)
        .set("offsetGroups", offset_groups);
  }
};
Call deform_conv(Gen& g) {
  const DeformSizes s(g);
  Call c("deformConv", {g.tensor(s.x), s.offsets(g), g.tensor(s.weight),
                        g.chance() ? g.tensor({s.out}) : Tensor(), g.chance() ? g.tensor(s.mask) : Tensor()});
  return s.set(c);
}
Call deform_conv_grad(Gen& g) {
  const DeformSizes s(g);
  Call c("deformConvGrad", {g.tensor(s.x), s.offsets(g), g.tensor(s.weight),
                            g.chance() ? g.tensor(s.mask) : Tensor(), g.tensor(s.y)});
  for (const char* want : {"wantX", "wantOffset", "wantWeight", "wantMask"}) c.set(want, g.chance(0.8));
  if (!c.inputs[3]) c.set("wantMask", false);
  return s.set(c.set("wantX", true));
}

}  // namespace

void add_product_samples(SampleTable& t) {
  t["matmul"] = matmul;
  t["linear"] = linear;
  t["linearThen"] = linear_activation("linearThen");
  t["linearActivation"] = linear_activation("linearActivation");
  t["conv"] = conv;
  t["convInputGrad"] = conv_input_grad;
  t["convWeightGrad"] = conv_weight_grad;
  t["convTranspose"] = conv_transpose;
  t["deformConv"] = deform_conv;
  t["deformConvGrad"] = deform_conv_grad;
}

}  // namespace omnigrad::test
