// The one door to threads. threads.cpp and serial.cpp implement it; a build links exactly one of them.
//
// Results must not depend on the number of threads: a caller splits work by sizes alone, gives each
// destination to one chunk, and sums in a fixed order. Bodies never throw and never allocate. No tensors
// here.
#pragma once

#include <cstdint>
#include <type_traits>

namespace omnigrad::parallel {

// Starts `n` threads in all, the caller's included; 1 means none. Call once, before the first region.
void start(int n);
void stop();
int threads() noexcept;

// A worker may be lost: it traps, or is ended from outside. Its region comes back all the same, at once if it
// could say so, else after a minute in which nothing got done, with chunks that never ran. What it was to
// compute, and perhaps more, is not to be relied on then: lost() is true from there on, and every region is
// run by its caller.
bool lost() noexcept;
void lose_this_worker() noexcept;  // by the dying worker, to run nothing of this pool after it

// Runs fn(context, chunk) for each chunk in [0, chunks), each exactly once, in any order and on any thread;
// returns when all have run. A call from inside a region runs serially.
void run(int64_t chunks, void (*fn)(void* context, int64_t chunk) noexcept, void* context) noexcept;

// Covers [0, n) with calls body(begin, end), each of `grain` elements but for the last.
template <class Body>
void parallel_for(int64_t n, int64_t grain, Body&& body) noexcept {
  if (n <= 0) return;
  if (grain < 1) grain = 1;
  struct Context {
    std::remove_reference_t<Body>* body;
    int64_t n, grain;
  } context{&body, n, grain};
  run((n + grain - 1) / grain,
      [](void* c, int64_t chunk) noexcept {
        const Context& x = *static_cast<Context*>(c);
        const int64_t begin = chunk * x.grain;
        (*x.body)(begin, begin + x.grain < x.n ? begin + x.grain : x.n);
      },
      &context);
}

// Adds src[n, width] to the rows of dst[rows, width] that index[n] names; every index is in [0, rows). By
// default each row is owned by one thread and the sum has the serial order's bits. set_deterministic(false)
// allows the threaded build atomic compare-and-swap accumulation, whose last bits vary. T: float, double;
// Index: int32_t, int64_t.
template <class T, class Index>
void scatter_add(T* dst, int64_t rows, int64_t width, const Index* index, int64_t n, const T* src) noexcept;
void set_deterministic(bool on) noexcept;
bool deterministic() noexcept;

// *p += v by compare-and-swap: no machine here has a float atomic add.
template <class T>
void atomic_add(T* p, T v) noexcept {
  T old;
  __atomic_load(p, &old, __ATOMIC_RELAXED);
  T sum = old + v;
  while (!__atomic_compare_exchange(p, &old, &sum, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) sum = old + v;
}

}  // namespace omnigrad::parallel
