// Tensor: a counted handle on (storage, offset, shape, strides), with its place in the autograd graph.
//
// The core runs ops on one thread, so counts are plain integers; kernels see pointers only. What a tensor can
// compute is in ops.h; here is what it is.
#pragma once

#include <algorithm>
#include <utility>

#include "omnigrad/dtype.h"
#include "omnigrad/error.h"
#include "omnigrad/small_vec.h"

namespace omnigrad {

inline constexpr int kMaxRank = 16;

struct Storage;
struct Node;        // autograd/node.h
struct TensorImpl;  // tensor/tensor_impl.h
void retain(Storage* p) noexcept;
void release(Storage* p) noexcept;
void retain(Node* p) noexcept;
void release(Node* p) noexcept;
void retain(TensorImpl* p) noexcept;
void release(TensorImpl* p) noexcept;

// A counted pointer.
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* p) noexcept : p_(p) {
    if (p_) retain(p_);
  }
  Ref(const Ref& o) noexcept : Ref(o.p_) {}
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() {
    if (p_) release(p_);
  }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  T* p_ = nullptr;
};

// A block of memory that views share. `version` counts writes, so that a saved tensor that changed is
// noticed.
struct Storage {
  int refs = 0;
  uint32_t version = 0;
  size_t bytes = 0;
  void* data = nullptr;
  static Storage* make(size_t bytes);
};

class Tensor {
 public:
  Tensor() = default;  // undefined: an absent optional input, a zero gradient

  // Uninitialised, contiguous.
  static Tensor empty(const Dims& shape, DType dtype);
  static Tensor zeros(const Dims& shape, DType dtype);
  static Tensor scalar(double value, DType dtype);
  template <class T>
  static Tensor from(const Dims& shape, const T* values);
  // Another window on this tensor's storage; `offset` counts elements from the storage's start. Not recorded.
  Tensor as_strided(const Dims& shape, const Dims& strides, int64_t offset) const;

  bool defined() const { return static_cast<bool>(impl_); }
  explicit operator bool() const { return defined(); }
  const Dims& shape() const noexcept;
  const Dims& strides() const noexcept;  // in elements
  int64_t size(int64_t dim) const noexcept {
    return shape()[static_cast<size_t>(dim < 0 ? dim + rank() : dim)];
  }
  int64_t rank() const noexcept { return static_cast<int64_t>(shape().size()); }
  int64_t numel() const noexcept;
  int64_t offset() const noexcept;
  DType dtype() const noexcept;
  bool is_contiguous() const noexcept;

  template <class T>
  T* data() const {
    return static_cast<T*>(raw());
  }
  void* raw() const noexcept;  // the first element
  double item() const;

  // Not recorded: the same values, contiguous (itself where it already is); the same storage without history.
  Tensor contiguous() const;
  Tensor detach() const;
  // Writes `source`, of the same shape, here; casts. Not recorded.
  void assign(const Tensor& source) const;

  // Gradients. A leaf is a tensor that no recorded op made.
  bool requires_grad() const noexcept;
  bool is_leaf() const noexcept;
  Tensor& set_requires_grad(bool value);
  Tensor grad() const;
  void set_grad(Tensor g) const;

  Storage* storage() const noexcept;
  bool uniquely_held() const noexcept;  // nobody else holds this tensor or its storage
  uint32_t version() const { return storage()->version; }
  void bump_version() const { ++storage()->version; }

  TensorImpl* impl() const { return impl_.get(); }
  explicit Tensor(TensorImpl* impl) : impl_(impl) {}

 private:
  Ref<TensorImpl> impl_;
};

using TensorList = SmallVec<Tensor, 4>;

Dims contiguous_strides(const Dims& shape);
// How many tensors exist.
int64_t live_tensors();

template <class T>
Tensor Tensor::from(const Dims& shape, const T* values) {
  Tensor t = empty(shape, DTypeOf<T>::value);
  std::copy(values, values + t.numel(), t.data<T>());
  return t;
}

}  // namespace omnigrad
