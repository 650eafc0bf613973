#include "omnigrad/tensor.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "autograd/node.h"
#include "kernels/copy.h"
#include "tensor/pool.h"
#include "tensor/tensor_impl.h"

namespace omnigrad {
namespace {
int64_t tensors_alive = 0;
}

Storage* Storage::make(size_t bytes) {
  auto s = std::make_unique<Storage>();  // first: if it fails, no block is lost
  s->data = pool::allocate(bytes);
  s->bytes = bytes;
  pool::count_tensor(static_cast<ptrdiff_t>(bytes));
  return s.release();
}

void retain(Storage* p) noexcept { ++p->refs; }
void release(Storage* p) noexcept {
  if (--p->refs) return;
  pool::release(p->data, p->bytes);
  pool::count_tensor(-static_cast<ptrdiff_t>(p->bytes));
  delete p;
}

void retain(TensorImpl* p) noexcept { ++p->refs; }
void release(TensorImpl* p) noexcept {
  if (--p->refs) return;
  --tensors_alive;
  if (p->node && p->node->leaf == p) p->node->leaf = nullptr;
  delete p;
}

int64_t live_tensors() { return tensors_alive; }

Dims contiguous_strides(const Dims& shape) {
  Dims strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

Tensor Tensor::empty(const Dims& shape, DType dtype) {
  if (shape.size() > kMaxRank) fail("rank ", shape.size(), " is above the limit of ", kMaxRank);
  double bytes = static_cast<double>(size_of(dtype));
  for (int64_t d : shape) {
    if (d < 0) fail("negative size in shape ", shape);
    bytes *= static_cast<double>(d);
  }
  if (bytes > std::min(9e15, static_cast<double>(SIZE_MAX / 2)))
    fail(Code::memory, "out of memory: shape ", shape, " of ", dtype, " cannot be addressed");
  Ref<Storage> storage(Storage::make(static_cast<size_t>(bytes)));
  auto* impl = new TensorImpl;
  ++tensors_alive;
  impl->dtype = dtype;
  impl->shape = shape;
  impl->strides = contiguous_strides(shape);
  impl->storage = std::move(storage);
  return Tensor(impl);
}

Tensor Tensor::zeros(const Dims& shape, DType dtype) {
  Tensor t = empty(shape, dtype);
  std::memset(t.raw(), 0, static_cast<size_t>(t.numel()) * size_of(dtype));
  return t;
}

Tensor Tensor::scalar(double value, DType dtype) {
  Tensor t = empty({}, dtype);
  if (is_floating(dtype)) {
    visit_floating(dtype, [&]<class T>() { *t.data<T>() = static_cast<T>(value); });
  } else {
    kernels::fill({t.raw(), dtype, nullptr}, value, nullptr, 0);  // saturates
  }
  return t;
}

Tensor Tensor::as_strided(const Dims& shape, const Dims& strides, int64_t offset) const {
  auto* impl = new TensorImpl;
  ++tensors_alive;
  impl->dtype = dtype();
  impl->shape = shape;
  impl->strides = strides;
  impl->offset = offset;
  impl->storage = impl_->storage;
  return Tensor(impl);
}

const Dims& Tensor::shape() const noexcept { return impl_->shape; }
const Dims& Tensor::strides() const noexcept { return impl_->strides; }
int64_t Tensor::numel() const noexcept { return product(impl_->shape); }
int64_t Tensor::offset() const noexcept { return impl_->offset; }
DType Tensor::dtype() const noexcept { return impl_->dtype; }
Storage* Tensor::storage() const noexcept { return impl_->storage.get(); }

bool Tensor::is_contiguous() const noexcept {
  int64_t step = 1;
  for (size_t i = shape().size(); i-- > 0;) {
    if (shape()[i] == 0) return true;
    if (shape()[i] != 1 && strides()[i] != step) return false;
    step *= shape()[i];
  }
  return true;
}

void* Tensor::raw() const noexcept {
  return static_cast<char*>(impl_->storage->data) +
         impl_->offset * static_cast<int64_t>(size_of(impl_->dtype));
}

double Tensor::item() const {
  if (numel() != 1) fail("item needs one element, this tensor has shape ", shape());
  return visit_dtype(dtype(), [&]<class T>() { return static_cast<double>(*data<T>()); });
}

Tensor Tensor::detach() const { return as_strided(shape(), strides(), offset()); }

Tensor Tensor::contiguous() const {
  if (is_contiguous()) return *this;
  Tensor out = empty(shape(), dtype());
  out.assign(*this);
  return out;
}

void Tensor::assign(const Tensor& source) const {
  kernels::StridedView to{raw(), dtype(), strides().data()};
  kernels::StridedView from{source.raw(), source.dtype(), source.strides().data()};
  kernels::copy(to, from, shape().data(), static_cast<int>(rank()));
}

bool Tensor::uniquely_held() const noexcept { return impl_->refs == 1 && impl_->storage->refs == 1; }

bool Tensor::requires_grad() const noexcept { return static_cast<bool>(impl_->node); }
bool Tensor::is_leaf() const noexcept { return !impl_->node || !impl_->node->op; }

Tensor& Tensor::set_requires_grad(bool value) {
  if (!is_leaf()) fail(Code::graph, "requiresGrad can be set on a leaf only; detach() first");
  if (value && !is_floating(dtype()))
    fail(Code::dtype, "only floating tensors have gradients, not ", dtype());
  if (value && !impl_->node) impl_->node = Node::make_leaf(impl_.get());
  if (!value) impl_->node = Ref<Node>();
  return *this;
}

Tensor Tensor::grad() const { return impl_->grad; }

void Tensor::set_grad(Tensor g) const {
  if (g.defined() && (!(g.shape() == shape()) || g.dtype() != dtype())) {
    fail("a gradient has its tensor's shape and dtype: ", g.dtype(), " ", g.shape(), " given for ", dtype(),
         " ", shape());
  }
  impl_->grad = std::move(g);
}

}  // namespace omnigrad
