// parallel.h on one thread: the whole of it, for builds without shared memory.
#include "parallel/parallel.h"
#include "parallel/scatter.h"

namespace omnigrad::parallel {

void start(int) {}
void stop() {}
int threads() noexcept { return 1; }
bool lost() noexcept { return false; }
void lose_this_worker() noexcept {}

void set_deterministic(bool) noexcept {}
bool deterministic() noexcept { return true; }

void run(int64_t chunks, void (*fn)(void*, int64_t) noexcept, void* context) noexcept {
  for (int64_t chunk = 0; chunk < chunks; ++chunk) fn(context, chunk);
}

template <class T, class Index>
void scatter_add(T* dst, int64_t rows, int64_t width, const Index* index, int64_t n, const T* src) noexcept {
  scatter_rows(dst, 0, rows, width, index, n, src);
}

}  // namespace omnigrad::parallel

OMNIGRAD_SCATTER_ADD_ALL
