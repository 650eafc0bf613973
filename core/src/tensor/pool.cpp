#include "tensor/pool.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "omnigrad/error.h"

namespace omnigrad::pool {
namespace {

constexpr size_t kAlign = 64;
constexpr int kClassesPerDoubling = 8;
constexpr int kClasses = 8 * 64;

// A free block's first word points to the next one of its class.
struct Pool {
  void* free[kClasses] = {};
  Stats stats{};
};

// Filled by initializers of other files: constant before any of them runs.
void (*drains[4])() noexcept = {};
size_t drain_count = 0;

void push(Pool& p, int c, void* block) noexcept {
  *static_cast<void**>(block) = p.free[c];
  p.free[c] = block;
}
void* pop(Pool& p, int c) noexcept {
  void* block = p.free[c];
  p.free[c] = *static_cast<void**>(block);
  return block;
}

// Never destroyed: tensors with static storage may outlive any destructor.
Pool& instance() {
  static Pool* pool = new Pool;
  return *pool;
}

int bit_width(size_t n) {
  int w = 0;
  for (; n; n >>= 1) ++w;
  return w;
}

struct Class {
  int index;
  size_t bytes;
};

// Class k of a doubling [2^e, 2^(e+1)) holds blocks of 2^e * (8 + k) / 8 bytes, in steps of whole cache
// lines.
Class class_of(size_t bytes) {
  const size_t lines = (std::max<size_t>(bytes, 1) + kAlign - 1) / kAlign;
  if (lines <= kClassesPerDoubling) return {static_cast<int>(lines), lines * kAlign};
  const int e = bit_width(lines - 1) - 1;                      // 2^e <= lines - 1 < 2^(e+1)
  const size_t step = (size_t{1} << e) / kClassesPerDoubling;  // at least one line
  const size_t k = (lines - (size_t{1} << e) + step - 1) / step;
  return {e * kClassesPerDoubling + static_cast<int>(k), ((size_t{1} << e) + k * step) * kAlign};
}

// Frees cached blocks, largest first, until `wanted` bytes have gone back to the heap.
void flush_some(Pool& p, size_t wanted) noexcept {
  size_t freed = 0;
  for (int c = kClasses - 1; c > 0 && freed < wanted; --c) {
    if (!p.free[c]) continue;
    const size_t bytes =
        c <= kClassesPerDoubling
            ? c * kAlign
            : ((size_t{1} << (c / kClassesPerDoubling)) * (8 + c % kClassesPerDoubling) / 8) * kAlign;
    while (p.free[c] && freed < wanted) {
      std::free(pop(p, c));
      p.stats.cached -= bytes;
      freed += bytes;
    }
  }
}

}  // namespace

size_t block_size(size_t bytes) { return class_of(bytes).bytes; }

void* allocate(size_t bytes) {
  Pool& p = instance();
  if (bytes > SIZE_MAX / 2) fail(Code::memory, "out of memory: ", bytes, " bytes asked for");
  const Class c = class_of(bytes);
  void* block = nullptr;
  if (p.free[c.index]) {
    block = pop(p, c.index);
    p.stats.cached -= c.bytes;
  } else {
    // Reuse before growth: once the cache could serve the request, hand its memory back for the heap to
    // merge.
    if (p.stats.cached >= c.bytes && p.stats.cached > p.stats.live / 8) flush_some(p, c.bytes);
    block = std::aligned_alloc(kAlign, c.bytes);
    if (!block) {
      flush();
      block = std::aligned_alloc(kAlign, c.bytes);
    }
    if (!block) {
      fail(Code::memory, "out of memory: ", c.bytes, " bytes asked for, ", p.stats.live, " bytes held");
    }
  }
  p.stats.live += c.bytes;
  p.stats.peak = std::max(p.stats.peak, p.stats.live);
  return block;
}

void release(void* block, size_t bytes) noexcept {
  Pool& p = instance();
  const Class c = class_of(bytes);
  p.stats.live -= c.bytes;
  p.stats.cached += c.bytes;
  push(p, c.index, block);
}

void flush() noexcept {
  flush_some(instance(), SIZE_MAX);
  for (size_t i = 0; i < drain_count; ++i) drains[i]();
}

bool at_flush(void (*drain)() noexcept) noexcept {
  drains[drain_count++] = drain;
  return true;
}

Stats stats() { return instance().stats; }
void reset_peak() {
  Stats& s = instance().stats;
  s.peak = s.live;
  s.tensors_peak = s.tensors;
}

void count_tensor(ptrdiff_t bytes) noexcept {
  Stats& s = instance().stats;
  s.tensors += static_cast<size_t>(bytes);
  s.tensors_peak = std::max(s.tensors_peak, s.tensors);
}

}  // namespace omnigrad::pool
