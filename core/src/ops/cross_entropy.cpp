// See cross_entropy.h. The gradient op makes the softmax again from x; its own vjp goes through the
// composite.
#include "cross_entropy.h"

#include "kernels/softmax.h"
#include "omnigrad/autograd.h"
#include "ops/axis.h"
#include "tensor/pool.h"

namespace omnigrad {
namespace {

struct EachOptions {
  int64_t axis = 0, ignored = -100;
};

Dims without_axis(const EachOptions& o, const Tensor& x) {
  Dims rows = x.shape();
  rows.erase(static_cast<size_t>(normalize_dim(o.axis, x.rank())));
  return rows;
}
void check(const EachOptions& o, Inputs in) {
  const Dims rows = without_axis(o, in[0]);
  if (!(in[1].shape() == rows)) fail("target ", in[1].shape(), " must have shape ", rows);
  const int64_t classes = in[0].size(o.axis);
  if (classes == 0) fail("needs at least one class");
  const Tensor t = in[1].contiguous();
  visit_index(t.dtype(), [&]<class I>() {
    for (int64_t i = 0; i < t.numel(); ++i) {
      const int64_t c = static_cast<int64_t>(t.data<I>()[i]);
      if (c != o.ignored && (c < 0 || c >= classes))
        fail(Code::index, "target class ", c, " is out of range for ", classes, " classes");
    }
  });
}
// As the kernels take them: negative where ignored.
Workspace classes_of(const Tensor& target, int64_t ignored) {
  const Tensor t = target.contiguous();
  Workspace classes(static_cast<size_t>(t.numel()) * sizeof(int64_t));
  visit_index(t.dtype(), [&]<class I>() {
    for (int64_t i = 0; i < t.numel(); ++i) {
      const int64_t c = static_cast<int64_t>(t.data<I>()[i]);
      classes.as<int64_t>()[i] = c == ignored ? -1 : c;
    }
  });
  return classes;
}

Tensor composite(const EachOptions& o, const Tensor& x, const Tensor& given) {
  const Tensor target = cast(given, DType::int64), zero = Tensor::scalar(0, DType::int64);
  const Tensor kept = ne(target, Tensor::scalar(static_cast<double>(o.ignored), DType::int64));
  const Tensor safe = unsqueeze(where(kept, target, zero), o.axis);
  const Tensor picked = squeeze(gather(log_softmax(x, o.axis), safe, o.axis), o.axis);
  return -(picked * cast(kept, x.dtype()));
}

struct CrossEntropyEachGrad {
  using Options = EachOptions;
  static constexpr Schema schema() {
    return op("crossEntropyEachGrad", "The gradient of crossEntropyEach, fused.")
        .in("x", Kind::floating, "logits")
        .saved()
        .in("target", Kind::index, "classes, x's shape without the axis")
        .saved()
        .in("g", Kind::floating, "the cotangent of the loss")
        .saved()
        .opt("axis", &Options::axis)
        .opt("ignored", &Options::ignored)
        .out("gx")
        .internal();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    check(o, in);
    if (!(in[2].shape() == in[1].shape()))
      fail("g ", in[2].shape(), " must have target's shape ", in[1].shape());
    return {{in[0].shape(), in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor x = in[0].contiguous(), g = in[2].contiguous();
    const Workspace classes = classes_of(in[1], o.ignored);
    const AxisView v(x.shape(), o.axis);
    visit_floating(x.dtype(), [&]<class T>() {
      kernels::cross_entropy_grad(x.data<T>(), classes.as<int64_t>(), g.data<T>(), out[0].data<T>(), v.outer,
                                  v.n, v.inner);
    });
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents v, Need need) {
    return double_backward([&o](const TensorList& in) { return TensorList{composite(o, in[0], in[1])}; },
                           {s.in(0), s.in(1)}, {s.in(2)}, {v[0]}, need);
  }
};
OMNIGRAD_OP(CrossEntropyEachGrad)

struct CrossEntropyEach {
  using Options = EachOptions;
  static constexpr Schema schema() {
    return op("crossEntropyEach", "-log_softmax(x) at the target of each row; 0 where it is ignored.")
        .in("x", Kind::floating, "logits")
        .saved()
        .in("target", Kind::index, "classes, x's shape without the axis")
        .saved()
        .opt("axis", &Options::axis, "of the classes")
        .opt("ignored", &Options::ignored, "a target that counts for nothing")
        .out("loss")
        .internal();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    check(o, in);
    return {{without_axis(o, in[0]), in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor x = in[0].contiguous();
    const Workspace classes = classes_of(in[1], o.ignored);
    const AxisView v(x.shape(), o.axis);
    visit_floating(x.dtype(), [&]<class T>() {
      kernels::cross_entropy(x.data<T>(), classes.as<int64_t>(), out[0].data<T>(), v.outer, v.n, v.inner);
    });
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need) {
    return {apply1<CrossEntropyEachGrad>({s.in(0), s.in(1), g[0]}, o), {}};
  }
};
OMNIGRAD_OP(CrossEntropyEach)

}  // namespace

Tensor cross_entropy_each(const Tensor& x, const Tensor& target, int64_t axis, int64_t ignored) {
  return apply1<CrossEntropyEach>({x, target}, {axis, ignored});
}

}  // namespace omnigrad
