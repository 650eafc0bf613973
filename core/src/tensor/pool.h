// Memory for tensor data and workspaces: 64-byte aligned blocks in size classes, eight a doubling, kept for
// reuse. Called by the thread that runs ops only; kernels get pointers.
#pragma once

#include <cstddef>
#include <utility>

namespace omnigrad::pool {

struct Stats {
  size_t live;          // bytes handed out, class rounding included
  size_t peak;          // the most that `live` has been
  size_t cached;        // bytes kept for reuse
  size_t tensors;       // bytes that tensors asked for: no rounding, no workspace
  size_t tensors_peak;  // the most that `tensors` has been
};

// The size of the block that serves `bytes`.
size_t block_size(size_t bytes);
// Throws Error(Code::memory) when neither the cache nor the heap has a block.
void* allocate(size_t bytes);
void release(void* block, size_t bytes) noexcept;
void flush() noexcept;  // gives all cached blocks back to the heap, and what else is kept for reuse
// Has flush call `drain`, which gives back what somebody else keeps. For initializers of statics: four at
// most.
bool at_flush(void (*drain)() noexcept) noexcept;
// A storage was made, or with a negative count freed.
void count_tensor(ptrdiff_t bytes) noexcept;
Stats stats();
void reset_peak();  // both peaks begin at what is now

}  // namespace omnigrad::pool

namespace omnigrad {

// Scratch memory of an op, taken before its parallel region.
class Workspace {
 public:
  explicit Workspace(size_t bytes) : bytes_(bytes), data_(bytes ? pool::allocate(bytes) : nullptr) {}
  Workspace(Workspace&& other) noexcept
      : bytes_(std::exchange(other.bytes_, 0)), data_(std::exchange(other.data_, nullptr)) {}
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() {
    if (data_) pool::release(data_, bytes_);
  }
  template <class T = void>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  size_t bytes_;
  void* data_;
};

}  // namespace omnigrad
