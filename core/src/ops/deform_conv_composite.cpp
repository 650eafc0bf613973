// Deformable convolution from gathers, products and one matmul. Corner indices and the floors of coordinates
// are constants: they have no derivative. Everything else stays in differentiable ops.
#include <cmath>

#include "ops/deform_conv.h"

namespace omnigrad {
namespace {

struct Lattice {
  Dims size, kernel, out, stride, padding, dilation;
  int64_t rank() const { return static_cast<int64_t>(size.size()); }
};

// Undeformed coordinates on an axis, [taps, positions].
Tensor base_coordinates(const Lattice& l, size_t axis, DType dtype) {
  const int64_t taps = product(l.kernel), positions = product(l.out);
  int64_t tap_step = 1, position_step = 1;
  for (size_t i = axis + 1; i < l.kernel.size(); ++i) tap_step *= l.kernel[i], position_step *= l.out[i];
  Tensor base = Tensor::empty({taps, positions}, dtype);
  visit_floating(dtype, [&]<class T>() {
    T* to = base.data<T>();
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t p = 0; p < positions; ++p)
        *to++ = static_cast<T>(p / position_step % l.out[axis] * l.stride[axis] - l.padding[axis] +
                               t / tap_step % l.kernel[axis] * l.dilation[axis]);
  });
  return base;
}

// Constants of all samples: whether each is inside, and its coordinates' floors (0 where it is outside).
struct Floors {
  Tensor inside;     // bool
  TensorList floor;  // an axis

  Floors(const TensorList& coordinates, const Lattice& l) {
    const Tensor& first = coordinates[0];
    inside = Tensor::empty(first.shape(), DType::boolean);
    const int64_t n = first.numel();
    visit_floating(first.dtype(), [&]<class T>() {
      bool* in = inside.data<bool>();
      std::fill_n(in, n, true);
      for (size_t axis = 0; axis < coordinates.size(); ++axis) {
        const Tensor at = coordinates[axis].contiguous();
        const T* from = at.data<T>();
        for (int64_t i = 0; i < n; ++i)
          in[i] = in[i] && from[i] > T(-1) && from[i] < static_cast<T>(l.size[axis]);
      }
      for (const Tensor& t : coordinates) {
        const Tensor at = t.contiguous(), low = Tensor::empty(first.shape(), first.dtype());
        for (int64_t i = 0; i < n; ++i) low.data<T>()[i] = in[i] ? std::floor(at.data<T>()[i]) : T(0);
        floor.push_back(low);
      }
    });
  }

  // Where the corner lies among the pixels; one past the last, which is zero, where it is outside.
  Tensor index(int64_t corner, const Lattice& l) const {
    const int64_t n = inside.numel();
    Tensor index = Tensor::empty(inside.shape(), DType::int64);
    visit_floating(floor[0].dtype(), [&]<class T>() {
      for (int64_t i = 0; i < n; ++i) {
        int64_t at = 0;
        bool exists = inside.data<bool>()[i];
        for (size_t axis = 0; axis < floor.size(); ++axis) {
          const int64_t j = static_cast<int64_t>(floor[axis].data<T>()[i]) + upper(corner, axis, l);
          exists = exists && j >= 0 && j < l.size[axis];
          at = at * l.size[axis] + j;
        }
        index.data<int64_t>()[i] = exists ? at : product(l.size);
      }
    });
    return index;
  }
  static int64_t upper(int64_t corner, size_t axis, const Lattice& l) {
    return corner >> (l.rank() - 1 - static_cast<int64_t>(axis)) & 1;
  }
};

}  // namespace

Tensor deform_conv_composite(const Tensor& x, const Tensor& offset, const Tensor& weight, const Tensor& mask,
                             const DeformConvOptions& o) {
  Lattice l;
  const int64_t rank = x.rank() - 2;
  l.size = Dims(x.shape().begin() + 2, x.shape().end());
  l.kernel = Dims(weight.shape().begin() + 2, weight.shape().end());
  l.out = Dims(offset.shape().begin() + 2, offset.shape().end());
  l.stride = per_axis(o.stride, rank, "stride");
  l.padding = per_axis(o.padding, rank, "padding");
  l.dilation = per_axis(o.dilation, rank, "dilation");
  const int64_t batch = x.size(0), channels = x.size(1), outs = weight.size(0), taps = product(l.kernel),
                positions = product(l.out), pixels = product(l.size), groups = o.offset_groups,
                depth = channels / groups;

  // Coordinates [batch, offset groups, taps, positions]; those of samples outside are made harmless.
  const Tensor shifts = reshape(offset, {batch, groups, taps, rank, positions});
  TensorList coordinates;
  for (int64_t i = 0; i < rank; ++i)
    coordinates.push_back(base_coordinates(l, static_cast<size_t>(i), x.dtype()) +
                          reshape(slice(shifts, 3, i, i + 1), {batch, groups, taps, positions}));
  const Floors floors(coordinates, l);
  TensorList fraction;
  for (size_t i = 0; i < coordinates.size(); ++i)
    fraction.push_back(where(floors.inside, coordinates[i], zeros_like(coordinates[i])) - floors.floor[i]);

  // One more pixel, zero, for the corners outside.
  const Tensor image = pad(reshape(x, {batch, groups, depth, pixels}), {0, 1});
  Tensor samples;
  for (int64_t corner = 0; corner < int64_t{1} << rank; ++corner) {
    Tensor w;
    for (size_t i = 0; i < fraction.size(); ++i) {
      const Tensor part = Floors::upper(corner, i, l) ? fraction[i] : 1.0 - fraction[i];
      w = w ? w * part : part;
    }
    const Tensor index = reshape(floors.index(corner, l), {batch, groups, 1, taps * positions});
    const Tensor value = gather(image, expand(index, {batch, groups, depth, taps * positions}), 3);
    const Tensor term = reshape(value, {batch, groups, depth, taps, positions}) * unsqueeze(w, 2);
    samples = samples ? samples + term : term;
  }
  if (mask) samples = samples * reshape(mask, {batch, groups, 1, taps, positions});

  const int64_t inner = channels / o.groups * taps;
  const Tensor y = matmul(reshape(weight, {o.groups, outs / o.groups, inner}),
                          reshape(samples, {batch, o.groups, inner, positions}));
  Dims shape{batch, outs};
  shape.append(l.out.begin(), l.out.end());
  return reshape(y, shape);
}

}  // namespace omnigrad
