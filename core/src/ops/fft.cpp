// Discrete Fourier transforms of any length and number of axes. A complex tensor has one more axis, the last,
// of size 2: (real, imaginary). `dim` counts the axes without it. All are real linear maps made of one, dft,
// whose gradient is itself with the opposite sign, and of pad and slice.
#include "kernels/fft.h"

#include <cmath>

#include "ops/linalg.h"

namespace omnigrad {
namespace {

enum class Norm { backward, ortho, forward };

struct Dft {
  struct Options {
    int64_t dim = 0;  // from 0
    bool inverse = false;
    double scale = 1;
  };
  static constexpr Schema schema() {
    return op("dft", "scale times the discrete Fourier transform along an axis, or the conjugate one.")
        .in("x", Kind::floating, "[..., 2]")
        .opt("dim", &Options::dim, "the axis, from 0, not the last")
        .opt("inverse", &Options::inverse, "exp(+2 pi i j k / n) in place of exp(-2 pi i j k / n)")
        .opt("scale", &Options::scale)
        .out("y")
        .internal();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (in[0].rank() < 2 || in[0].size(-1) != 2 || o.dim < 0 || o.dim > in[0].rank() - 2)
      fail("x ", in[0].shape(), " must be [..., 2] with an axis ", o.dim);
    return {{in[0].shape(), in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const auto turned = [&](const Tensor& t) {  // the axis next to last
      Dims shape = t.shape(), strides = t.strides();
      const size_t a = static_cast<size_t>(o.dim), b = shape.size() - 2;
      std::swap(shape[a], shape[b]);
      std::swap(strides[a], strides[b]);
      return t.as_strided(shape, strides, t.offset());
    };
    const Tensor x = linalg::work_copy(turned(in[0]));
    const int64_t n = x.size(-2);
    if (x.numel() == 0) return;
    const int64_t lines = x.numel() / (2 * n);
    const kernels::FftPlan plan(n);
    const int64_t grain = std::max<int64_t>({1, 8192 / n, (lines + 31) / 32}),
                  chunks = (lines + grain - 1) / grain;
    const Tensor table = linalg::work_space({plan.table_size()});
    const Tensor scratch = linalg::work_space({chunks, plan.scratch_size()});
    kernels::fft_prepare(plan, table.data<double>(), scratch.data<double>());
    parallel::parallel_for(lines, grain, [&](int64_t begin, int64_t end) noexcept {
      double* s = scratch.data<double>() + begin / grain * plan.scratch_size();
      for (int64_t i = begin; i < end; ++i)
        kernels::fft_line(plan, table.data<double>(), x.data<double>() + i * 2 * n, o.inverse, o.scale, s);
    });
    turned(out[0]).assign(x);
  }
  static Grads vjp(const Options& o, const Saved&, Cotangents g, Need) {
    return {apply1<Dft>({g[0]}, {o.dim, !o.inverse, o.scale})};
  }
};
OMNIGRAD_OP(Dft)

// Which of the family: real or complex input and output, the direction.
enum class Type { complex_forward, complex_inverse, from_real, to_real };
constexpr bool inverse(Type t) { return t == Type::complex_inverse || t == Type::to_real; }

// Axes of a complex or real tensor as the transform counts them.
int64_t axes_of(const Tensor& x, Type type) {
  if (type == Type::from_real) return x.rank();
  if (x.rank() == 0 || x.size(-1) != 2)
    fail("x ", x.shape(), " must end in an axis of size 2: (real, imaginary)");
  return x.rank() - 1;
}

// The transform's length along an axis; `given`: -1 for the input's.
int64_t length_of(int64_t size, int64_t given, Type type) {
  const int64_t n = given >= 0 ? given : type == Type::to_real ? 2 * (size - 1) : size;
  if (n < 1) fail(Code::option, "a transform of length ", n, ": it must be at least 1");
  return n;
}

double scale_of(int64_t n, bool inverse, Norm norm) {
  const auto count = static_cast<double>(n);
  if (norm == Norm::ortho) return 1 / std::sqrt(count);
  return (norm == Norm::forward) == inverse ? 1 : 1 / count;
}

// Cut at the end or filled with zeros to size n.
Tensor resized(const Tensor& x, int64_t axis, int64_t n) {
  if (x.size(axis) == n) return x;
  Dims pairs(2 * static_cast<size_t>(x.rank() - axis), 0);
  pairs[1] = n - x.size(axis);
  return pad(x, pairs);
}

Tensor transformed(const Tensor& given, int64_t axis, int64_t length, Type type, Norm norm) {
  const int64_t n = length_of(given.size(axis), length, type);
  Tensor x = resized(given, axis, type == Type::to_real ? n / 2 + 1 : n);
  if (type == Type::from_real) x = pad(unsqueeze(x, x.rank()), {0, 1});
  if (type == Type::to_real) {
    // The other half is the conjugate of this one: its terms count twice, but for the first and the middle
    // one.
    Tensor twice = full({n / 2 + 1}, 2, x.dtype());
    const Tensor once = Tensor::scalar(1, x.dtype());
    slice(twice, 0, 0, 1).assign(once.as_strided({1}, {0}, 0));
    if (n % 2 == 0) slice(twice, 0, n / 2, n / 2 + 1).assign(once.as_strided({1}, {0}, 0));
    Dims shape(static_cast<size_t>(x.rank()), 1);
    shape[static_cast<size_t>(axis)] = n / 2 + 1;
    x = resized(x * reshape(twice, shape), axis, n);
  }
  const Tensor y = apply1<Dft>({x}, {axis, inverse(type), scale_of(n, inverse(type), norm)});
  if (type == Type::from_real) return slice(y, axis, 0, n / 2 + 1);
  return type == Type::to_real ? squeeze(slice(y, -1, 0, 1), -1) : y;
}

constexpr Choices kNorms{"backward", "ortho", "forward"};
constexpr const char* kNormDoc =
    "backward: the inverse divides by n; forward: the other does; ortho: both by sqrt(n)";
constexpr const char* kComplexDoc = "complex, [..., 2]";
constexpr const char* kRealDoc = "real";

struct AxisOptions {
  std::optional<int64_t> n;
  int64_t dim = -1;
  Norm norm = Norm::backward;
};
struct AxesOptions {
  std::optional<Dims> s;
  std::optional<Dims> dim;
  Norm norm = Norm::backward;
};

template <Type T, class Op>
struct OneAxis {
  using Options = AxisOptions;
  static constexpr Schema schema() {
    return op(Op::kName, Op::kDoc)
        .in("x", Kind::floating, T == Type::from_real ? kRealDoc : kComplexDoc)
        .opt("n", &Options::n, "length of the transform; x is cut or filled with zeros at the end")
        .opt("dim", &Options::dim, "the axis; that of the pairs is not counted")
        .opt("norm", &Options::norm, kNormDoc, kNorms)
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) { return spec(o, in[0], T); }
  static TensorList compose(const Options& o, Inputs in) {
    return {transformed(in[0], normalize_dim(o.dim, axes_of(in[0], T)), o.n.value_or(-1), T, o.norm)};
  }

 private:
  static OutSpecs spec(const Options& o, const Tensor& x, Type type);
};

Dims shape_after(Dims shape, int64_t axis, int64_t n, Type type) {
  shape[static_cast<size_t>(axis)] = type == Type::from_real ? n / 2 + 1 : n;
  if (type == Type::from_real) shape.push_back(2);
  if (type == Type::to_real) shape.pop_back();
  if (shape.size() > kMaxRank) fail("rank ", shape.size(), " is above the limit of ", kMaxRank);
  return shape;
}

void check_length(std::optional<int64_t> n) {
  if (n && *n < 1) fail(Code::option, "a transform of length ", *n, ": it must be at least 1");
}

template <Type T, class Op>
OutSpecs OneAxis<T, Op>::spec(const Options& o, const Tensor& x, Type type) {
  const int64_t axis = normalize_dim(o.dim, axes_of(x, type));
  check_length(o.n);
  const int64_t n = length_of(x.size(axis), o.n.value_or(-1), type);
  return {{shape_after(x.shape(), axis, n, type), x.dtype()}};
}

// The axes, in the order given, and the length along each.
struct Axes {
  Dims dims, lengths;

  Axes(const AxesOptions& o, const Tensor& x, Type type, bool two) {
    const int64_t rank = axes_of(x, type);
    if (o.dim) {
      normalize_dims(*o.dim, rank);  // checks
      for (int64_t d : *o.dim) dims.push_back(normalize_dim(d, rank));
    } else {
      const int64_t count = two ? 2 : o.s ? static_cast<int64_t>(o.s->size()) : rank;
      if (count > rank) fail("x ", x.shape(), " has fewer than ", count, " axes");
      for (int64_t d = rank - count; d < rank; ++d) dims.push_back(d);
    }
    if (dims.empty()) fail(Code::option, "at least one axis is needed");
    if (o.s && o.s->size() != dims.size())
      fail(Code::option, "s ", *o.s, " needs a length for each of ", dims.size(), " axes");
    for (size_t i = 0; i < dims.size(); ++i) {
      if (o.s) check_length((*o.s)[i]);
      lengths.push_back(length_of(x.size(dims[i]), o.s ? (*o.s)[i] : -1, of(i, type)));
    }
  }
  // The last axis named is the one that is real at one end.
  Type of(size_t i, Type type) const {
    if (i + 1 == dims.size()) return type;
    return inverse(type) ? Type::complex_inverse : Type::complex_forward;
  }
};

OutSpecs axes_spec(const AxesOptions& o, const Tensor& x, Type type, bool two) {
  const Axes a(o, x, type, two);
  Dims shape = x.shape();
  for (size_t i = 0; i < a.dims.size(); ++i)
    shape = shape_after(shape, a.dims[i], a.lengths[i], a.of(i, type));
  return {{shape, x.dtype()}};
}

Tensor axes_transformed(const AxesOptions& o, Tensor x, Type type, bool two) {
  const Axes a(o, x, type, two);
  // Real input first meets the axis that makes it complex; real output leaves by it.
  const size_t last = a.dims.size() - 1;
  const auto along = [&](size_t i) { x = transformed(x, a.dims[i], a.lengths[i], a.of(i, type), o.norm); };
  if (type == Type::from_real) along(last);
  for (size_t i = 0; i < last; ++i) along(i);
  if (type != Type::from_real) along(last);
  return x;
}

template <Type T, class Op, bool Two>
struct SeveralAxes {
  using Options = AxesOptions;
  static constexpr Schema schema() {
    return op(Op::kName, Op::kDoc)
        .in("x", Kind::floating, T == Type::from_real ? kRealDoc : kComplexDoc)
        .opt("s", &Options::s, "length along each axis; x is cut or filled with zeros at the end")
        .opt("dim", &Options::dim,
             Two ? "the axes; none: the last two" : "the axes; none: the last of s, or all")
        .opt("norm", &Options::norm, kNormDoc, kNorms)
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) { return axes_spec(o, in[0], T, Two); }
  static TensorList compose(const Options& o, Inputs in) { return {axes_transformed(o, in[0], T, Two)}; }
};

#define FFT_NAME(NAME, DOC)                  \
  static constexpr const char* kName = NAME; \
  static constexpr Doc kDoc = DOC

struct Fft : OneAxis<Type::complex_forward, Fft> {
  FFT_NAME("fft", "The discrete Fourier transform along an axis, of any length.");
};
struct Ifft : OneAxis<Type::complex_inverse, Ifft> {
  FFT_NAME("ifft", "The inverse discrete Fourier transform along an axis.");
};
struct Rfft : OneAxis<Type::from_real, Rfft> {
  FFT_NAME("rfft", "The first n / 2 + 1 terms of a real tensor's Fourier transform, the others' conjugates.");
};
struct Irfft : OneAxis<Type::to_real, Irfft> {
  FFT_NAME("irfft",
           "The inverse of rfft; n is 2 (m - 1) for m terms unless given. Of the first and the middle "
           "term the real part counts.");
};
struct Fft2 : SeveralAxes<Type::complex_forward, Fft2, true> {
  FFT_NAME("fft2", "fft along two axes.");
};
struct Ifft2 : SeveralAxes<Type::complex_inverse, Ifft2, true> {
  FFT_NAME("ifft2", "ifft along two axes.");
};
struct Rfft2 : SeveralAxes<Type::from_real, Rfft2, true> {
  FFT_NAME("rfft2", "rfft along the last of two axes, fft along the other.");
};
struct Irfft2 : SeveralAxes<Type::to_real, Irfft2, true> {
  FFT_NAME("irfft2", "ifft along the first of two axes, irfft along the other.");
};
struct Fftn : SeveralAxes<Type::complex_forward, Fftn, false> {
  FFT_NAME("fftn", "fft along several axes.");
};
struct Ifftn : SeveralAxes<Type::complex_inverse, Ifftn, false> {
  FFT_NAME("ifftn", "ifft along several axes.");
};
struct Rfftn : SeveralAxes<Type::from_real, Rfftn, false> {
  FFT_NAME("rfftn", "rfft along the last of several axes, fft along the others.");
};
struct Irfftn : SeveralAxes<Type::to_real, Irfftn, false> {
  FFT_NAME("irfftn", "ifft along several axes, irfft along the last of them.");
};
OMNIGRAD_OP(Fft)
OMNIGRAD_OP(Ifft)
OMNIGRAD_OP(Rfft)
OMNIGRAD_OP(Irfft)
OMNIGRAD_OP(Fft2)
OMNIGRAD_OP(Ifft2)
OMNIGRAD_OP(Rfft2)
OMNIGRAD_OP(Irfft2)
OMNIGRAD_OP(Fftn)
OMNIGRAD_OP(Ifftn)
OMNIGRAD_OP(Rfftn)
OMNIGRAD_OP(Irfftn)

}  // namespace
}  // namespace omnigrad
