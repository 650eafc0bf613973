// Lp pooling and max unpooling, composed of the other poolings.
#include <cmath>

#include "kernels/pool.h"
#include "omnigrad/ops.h"
#include "resample.h"

namespace omnigrad {
namespace {

// How many of x's axes windows cover, as in the other poolings.
int64_t window_axes(const Tensor& x, const Dims& kernel) {
  const auto listed = static_cast<int64_t>(kernel.size());
  return listed > 1 || x.rank() == 2 ? listed : x.rank() - 2;
}

struct LpPool {
  struct Options {
    double norm_type = 2;
    Dims kernel_size{2};
    std::optional<Dims> stride;
    bool ceil_mode = false;
  };
  static constexpr Schema schema() {
    return op("lpPool",
              "(sum of x^p)^(1/p) over windows of the spatial axes, as PyTorch's lp_pool: a window that "
              "reaches over "
              "the end counts as a full one with its mean. Where the sum is 0 the gradient is 0.")
        .in("x", Kind::floating, "[N, C, ...spatial], any number of spatial axes")
        .arg("normType", &Options::norm_type, "p, above 0; Infinity: max pooling")
        .arg("kernelSize", &Options::kernel_size, "the window's sizes: one number, or one an axis")
        .opt("stride", &Options::stride, "steps between windows; none: kernelSize")
        .opt("ceilMode", &Options::ceil_mode,
             "keep a last window that reaches over the end, if it starts inside")
        .out("y");
  }
  static AvgPoolOptions average(const Options& o) {
    AvgPoolOptions a;
    a.kernel_size = o.kernel_size, a.stride = o.stride, a.ceil_mode = o.ceil_mode;
    return a;
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (!(o.norm_type > 0)) fail(Code::option, "normType ", o.norm_type, " must be above 0");
    const AvgPoolOptions a = average(o);
    return find_op("avgPool")->shape(&a, in);
  }
  static TensorList compose(const Options& o, Inputs in) {
    const double p = o.norm_type;
    const Tensor& x = in[0];
    if (std::isinf(p)) {
      MaxPoolOptions m;
      m.kernel_size = o.kernel_size, m.stride = o.stride, m.ceil_mode = o.ceil_mode;
      return {max_pool(x, m)[0]};
    }
    const auto power = [](const Tensor& t, double to) { return pow(t, Tensor::scalar(to, t.dtype())); };
    const double size =
        static_cast<double>(product(per_axis(o.kernel_size, window_axes(x, o.kernel_size), "")));
    const Tensor mean = avg_pool(p == 2 ? square(x) : power(x, p), average(o));
    // The root's slope at 0 is infinite; no sum of 0 gets there.
    const Tensor none = eq(mean, Tensor::scalar(0, mean.dtype()));
    const Tensor total = where(none, ones(mean.shape(), mean.dtype()), mean * size);
    return {where(none, zeros_like(mean), p == 2 ? sqrt(total) : power(total, 1 / p))};
  }
};
OMNIGRAD_OP(LpPool)

struct MaxUnpool {
  struct Options {
    Dims kernel_size{2};
    std::optional<Dims> stride, output_size;
    Dims padding{0};
  };
  static constexpr Schema schema() {
    return op("maxUnpool",
              "Puts elements back to where maxPool found them, zeros elsewhere. Of several for one place the "
              "last "
              "stays, and it alone has a gradient.")
        .in("x", Kind::floating, "[N, C, ...spatial], maxPool's y")
        .in("indices", Kind::index, "maxPool's indices, int64")
        .arg("kernelSize", &Options::kernel_size, "maxPool's: one number, or one an axis")
        .opt("stride", &Options::stride, "maxPool's; none: kernelSize")
        .opt("padding", &Options::padding, "maxPool's")
        .opt("outputSize", &Options::output_size,
             "spatial sizes of the result, or its shape; none: the least that maxPool may have had")
        .out("y");
  }
  static Dims sizes(const Options& o, const Tensor& x) {
    const int64_t axes = window_axes(x, o.kernel_size);
    if (axes < 1 || (x.rank() != axes + 1 && x.rank() != axes + 2))
      fail("x has rank ", x.rank(), ", it needs [N, C, ...spatial] or [C, ...spatial] for kernelSize ",
           o.kernel_size);
    const Dims in = spatial_sizes(x, axes), kernel = per_axis(o.kernel_size, axes, "kernelSize"),
               stride = o.stride ? per_axis(*o.stride, axes, "stride") : kernel,
               padding = per_axis(o.padding, axes, "padding");
    Dims out;
    if (o.output_size) {
      const Dims& given = *o.output_size;
      const bool whole = static_cast<int64_t>(given.size()) == x.rank();
      out = whole ? Dims(given.end() - axes, given.end()) : per_axis(given, axes, "outputSize");
    }
    constexpr int64_t limit = int64_t{1} << 27;
    for (size_t i = 0; i < in.size(); ++i) {
      if (kernel[i] < 1 || stride[i] < 1 || padding[i] < 0 || kernel[i] > limit || stride[i] > limit ||
          padding[i] > limit)
        fail(Code::option, "kernelSize ", kernel, " and stride ", stride, " must be 1 or more, padding ",
             padding, " not negative");
      if (!o.output_size) out.push_back((in[i] - 1) * stride[i] - 2 * padding[i] + kernel[i]);
      if (out[i] < 1) fail("the result's size ", out[i], " on an axis must be 1 or more");
    }
    return out;
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const Dims out = sizes(o, in[0]);
    if (in[1].dtype() != DType::int64)
      fail(Code::dtype, "indices have dtype ", in[1].dtype(), ", they need int64");
    if (!(in[1].shape() == in[0].shape()))
      fail("indices ", in[1].shape(), " must have x's shape ", in[0].shape());
    const Tensor index = in[1].contiguous();
    if (!kernels::indices_within(index.data<int64_t>(), index.numel(), product(out)))
      fail(Code::index, "indices must be from 0 to ", product(out) - 1, ", the last element of a plane of ",
           out);
    Dims shape(in[0].shape().begin(), in[0].shape().end() - out.size());
    shape.append(out.begin(), out.end());
    return {{shape, in[0].dtype()}};
  }
  // Which elements stay: of those for one place the last. Undefined where all do.
  static Tensor last_ones(const Tensor& indices, int64_t plane, int64_t count) {
    const Tensor index = indices.contiguous(), owner = Tensor::empty({plane}, DType::int64),
                 stays = Tensor::empty(index.shape(), DType::boolean);
    const int64_t* at = index.data<int64_t>();
    int64_t* owners = owner.data<int64_t>();
    bool all = true;
    for (int64_t first = 0; first < index.numel(); first += count) {
      for (int64_t j = first; j < first + count; ++j) owners[at[j]] = j;
      for (int64_t j = first; j < first + count; ++j) all &= stays.data<bool>()[j] = owners[at[j]] == j;
    }
    return all ? Tensor() : stays;
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Dims out = sizes(o, in[0]);
    const int64_t count = product(spatial_sizes(in[0], static_cast<int64_t>(out.size())));
    const Tensor stays = last_ones(in[1], product(out), count);
    return {plane_scatter(stays ? where(stays, in[0], zeros_like(in[0])) : in[0], in[1], out)};
  }
};
OMNIGRAD_OP(MaxUnpool)

}  // namespace
}  // namespace omnigrad
