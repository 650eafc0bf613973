// A vector that keeps its first N elements inline: shapes, argument lists and edges are short, and an op must
// not pay for the heap. Nothing about tensors here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <utility>

namespace omnigrad {

template <class T, uint32_t N>
class SmallVec {
 public:
  using value_type = T;

  SmallVec() = default;
  explicit SmallVec(size_t n, const T& value = T()) { resize(n, value); }
  SmallVec(std::initializer_list<T> list) { append(list.begin(), list.end()); }
  template <class It>
  SmallVec(It first, It last) {
    append(first, last);
  }
  SmallVec(const SmallVec& other) { append(other.begin(), other.end()); }
  SmallVec(SmallVec&& other) noexcept { take(std::move(other)); }
  SmallVec& operator=(const SmallVec& other) {
    if (this != &other) {
      clear();
      append(other.begin(), other.end());
    }
    return *this;
  }
  SmallVec& operator=(SmallVec&& other) noexcept {
    if (this != &other) {
      free_all();
      take(std::move(other));
    }
    return *this;
  }
  ~SmallVec() { free_all(); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void reserve(size_t n) {
    if (n > capacity_) grow(n);
  }
  void push_back(T value) {
    if (size_ == capacity_) grow(size_ + 1);
    new (data_ + size_++) T(std::move(value));
  }
  void pop_back() { data_[--size_].~T(); }
  void resize(size_t n, const T& value = T()) {
    while (size_ > n) pop_back();
    reserve(n);
    while (size_ < n) push_back(value);
  }
  template <class It>
  void append(It first, It last) {
    for (; first != last; ++first) push_back(*first);
  }
  void insert(size_t at, T value) {
    push_back(std::move(value));
    for (size_t i = size_ - 1; i > at; --i) std::swap(data_[i], data_[i - 1]);
  }
  void erase(size_t at) {
    for (size_t i = at; i + 1 < size_; ++i) data_[i] = std::move(data_[i + 1]);
    pop_back();
  }
  void clear() { resize_down(0); }

  friend bool operator==(const SmallVec& a, const SmallVec& b) {
    if (a.size_ != b.size_) return false;
    for (uint32_t i = 0; i < a.size_; ++i)
      if (!(a.data_[i] == b.data_[i])) return false;
    return true;
  }

 private:
  T* inline_data() { return reinterpret_cast<T*>(inline_); }
  void resize_down(size_t n) {
    while (size_ > n) pop_back();
  }
  void grow(size_t n) {
    const size_t capacity = n > 2 * size_t{capacity_} ? n : 2 * size_t{capacity_};
    T* fresh = static_cast<T*>(::operator new(capacity * sizeof(T)));
    for (uint32_t i = 0; i < size_; ++i) {
      new (fresh + i) T(std::move(data_[i]));
      data_[i].~T();
    }
    if (data_ != inline_data()) ::operator delete(data_);
    data_ = fresh;
    capacity_ = static_cast<uint32_t>(capacity);
  }
  void free_all() {
    clear();
    if (data_ != inline_data()) ::operator delete(data_);
    data_ = inline_data();
    capacity_ = N;
  }
  void take(SmallVec&& other) {
    if (other.data_ == other.inline_data()) {
      for (uint32_t i = 0; i < other.size_; ++i) new (data_ + i) T(std::move(other.data_[i]));
      size_ = other.size_;
      other.clear();
    } else {
      data_ = std::exchange(other.data_, other.inline_data());
      size_ = std::exchange(other.size_, 0);
      capacity_ = std::exchange(other.capacity_, N);
    }
  }

  alignas(T) unsigned char inline_[N * sizeof(T)];
  T* data_ = inline_data();
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
};

// Sizes, strides, axes: a list of integers.
using Dims = SmallVec<int64_t, 6>;

// Saturates: a shape that cannot be addressed has a great count of elements, never a small one.
inline int64_t product(const Dims& dims) {
  int64_t n = 1;
  bool overflow = false;
  for (int64_t d : dims) {
    if (d == 0) return 0;
    overflow |= __builtin_mul_overflow(n, d, &n);
  }
  return overflow ? INT64_MAX : n;
}

}  // namespace omnigrad
