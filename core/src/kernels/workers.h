// Tasks shared among threads where each thread needs scratch memory of its own: as much scratch as there are
// threads, not as there are tasks. A task must give the same result whoever runs it.
#pragma once

#include <atomic>
#include <cstdint>

#include "../parallel/parallel.h"

namespace omnigrad::kernels {

// How many pieces of scratch for_tasks() wants: one a thread, fewer for few tasks, one for `serial` work.
inline int64_t worker_count(int64_t tasks, bool serial) {
  const int64_t threads = serial ? 1 : parallel::threads();
  return tasks < threads ? (tasks < 1 ? 1 : tasks) : threads;
}

// body(task, worker) for each task in [0, tasks); no two at once have one worker.
template <class Body>
void for_tasks(int64_t tasks, int64_t workers, Body&& body) noexcept {
  std::atomic<int64_t> next{0};
  parallel::parallel_for(workers, 1, [&](int64_t begin, int64_t end) noexcept {
    for (int64_t worker = begin; worker < end; ++worker)
      for (;;) {
        const int64_t task = next.fetch_add(1, std::memory_order_relaxed);
        if (task >= tasks) break;
        body(task, worker);
      }
  });
}

}  // namespace omnigrad::kernels
