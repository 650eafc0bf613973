// parallel.h on a fixed pool of threads. A region is opened and closed by its caller, who takes part; a
// worker that wakes too late finds it closed and goes back to sleep, so that no region waits for a thread
// that has not begun. Waiting is a bounded spin and then a futex: a pure spin loses milliseconds when a core
// is busy, a futex alone costs tens of microseconds when it is not.
#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

#include "parallel/parallel.h"
#include "parallel/scatter.h"

#ifdef __EMSCRIPTEN__
#include <emscripten/threading.h>

#include <cerrno>
#include <climits>
#include <cmath>
#endif

namespace omnigrad::parallel {
namespace {

using Word = std::atomic<uint32_t>;

#ifdef __EMSCRIPTEN__
// Not std::atomic::wait: libc++ 13 polls with growing sleeps, and a page's main thread may not wait at all,
// which emscripten_futex_wait knows how to do.
void sleep_while(Word& word, uint32_t value) noexcept { emscripten_futex_wait(&word, value, INFINITY); }
void wake_all(Word& word) noexcept { emscripten_futex_wake(&word, INT_MAX); }

// False after a second in which nobody woke us.
bool doze_while(Word& word, uint32_t value) noexcept {
  return emscripten_futex_wait(&word, value, 1000) != -ETIMEDOUT;
}
#else
void sleep_while(Word& word, uint32_t value) noexcept { word.wait(value); }
void wake_all(Word& word) noexcept { word.notify_all(); }

// A native thread is not lost without its process.
bool doze_while(Word& word, uint32_t value) noexcept {
  word.wait(value);
  return true;
}
#endif

constexpr int spins = 4000;
// Counted one by one: a machine that was asleep meanwhile has missed a single one.
constexpr int idle_seconds = 60;
constexpr uint32_t open_bit = 1u << 31;     // workers may join
constexpr uint32_t waiting_bit = 1u << 30;  // the caller sleeps until the last worker has left
constexpr uint32_t count_mask = waiting_bit - 1;

thread_local bool inside = false;  // in a region of more than one chunk
thread_local bool joined = false;  // a worker that its region's caller waits for

class Pool {
 public:
  ~Pool() { stop(); }

  void start(int n) {
    stop();
    if (lost()) return;
    stopping_.store(false, std::memory_order_relaxed);
    const uint32_t epoch = epoch_.load(std::memory_order_relaxed);
    try {
      for (int i = 1; i < n; ++i) workers_.emplace_back([this, epoch] { work(epoch); });
    } catch (const std::system_error&) {
      // The system gives no more threads: go on with those there are.
    }
  }

  void stop() noexcept {
    if (workers_.empty()) return;
    stopping_.store(true, std::memory_order_relaxed);
    announce();
    for (std::thread& worker : workers_) {
      if (lost()) {
        worker.detach();
      } else {
        worker.join();
      }
    }
    workers_.clear();
  }

  bool lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

  void lose_this_worker() noexcept {
    lost_.store(true);
    if (joined) leave();
  }

  int threads() const noexcept { return static_cast<int>(workers_.size()) + 1; }

  void run(int64_t chunks, void (*fn)(void*, int64_t) noexcept, void* context) noexcept {
    chunks_ = chunks;
    fn_ = fn;
    context_ = context;
    next_.store(0, std::memory_order_relaxed);
    state_.store(open_bit, std::memory_order_release);
    announce();
    take_chunks();
    state_.fetch_and(~open_bit, std::memory_order_acq_rel);
    wait_for_workers();
  }

 private:
  // Sequentially consistent against work()'s sleepers_: either we see the sleeper or it sees the new epoch.
  void announce() noexcept {
    epoch_.fetch_add(1);
    if (sleepers_.load() != 0) wake_all(epoch_);
  }

  void take_chunks() noexcept {
    inside = true;
    for (;;) {
      const int64_t chunk = next_.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= chunks_) break;
      fn_(context_, chunk);
    }
    inside = false;
  }

  void wait_for_workers() noexcept {
    for (int i = 0; i < spins; ++i) {
      if ((state_.load(std::memory_order_acquire) & count_mask) == 0) return;
    }
    uint32_t state = state_.fetch_or(waiting_bit, std::memory_order_acq_rel) | waiting_bit;
    for (int idle = 0; (state & count_mask) != 0;) {
      idle = doze_while(state_, state) ? 0 : idle + 1;
      if (idle == idle_seconds) return lost_.store(true);
      state = state_.load(std::memory_order_acquire);
    }
  }

  void leave() noexcept {
    joined = false;
    if (state_.fetch_sub(1, std::memory_order_acq_rel) == (waiting_bit | 1)) wake_all(state_);
  }

  void work(uint32_t seen) noexcept {
    for (;;) {
      wait_for_epoch(seen);
      seen = epoch_.load(std::memory_order_acquire);
      if (stopping_.load(std::memory_order_relaxed)) return;
      uint32_t state = state_.load(std::memory_order_relaxed);
      while ((state & open_bit) != 0 && !joined) {
        joined = state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire);
      }
      if (!joined) continue;
      take_chunks();
      leave();
    }
  }

  void wait_for_epoch(uint32_t seen) noexcept {
    for (int i = 0; i < spins; ++i) {
      if (epoch_.load(std::memory_order_acquire) != seen) return;
    }
    sleepers_.fetch_add(1);
    while (epoch_.load() == seen) sleep_while(epoch_, seen);
    sleepers_.fetch_sub(1);
  }

  std::vector<std::thread> workers_;
  int64_t chunks_ = 0;
  void (*fn_)(void*, int64_t) noexcept = nullptr;
  void* context_ = nullptr;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> lost_{false};
  // On lines of their own: each is written by all threads, at different times.
  alignas(64) std::atomic<int64_t> next_{0};
  alignas(64) Word state_{0};
  alignas(64) Word epoch_{0};
  alignas(64) std::atomic<uint32_t> sleepers_{0};
};

Pool pool;
std::atomic<bool> is_deterministic{true};

// Below these, a second thread costs more than it saves: fewer adds than a fork and join, or rows so narrow
// that reading every index once a thread outweighs the adds.
constexpr int64_t scatter_min_adds = 1 << 15;
constexpr int64_t scatter_min_width = 8;

}  // namespace

void start(int n) { pool.start(n); }
void stop() { pool.stop(); }
int threads() noexcept { return pool.threads(); }
bool lost() noexcept { return pool.lost(); }
void lose_this_worker() noexcept { pool.lose_this_worker(); }

void set_deterministic(bool on) noexcept { is_deterministic.store(on, std::memory_order_relaxed); }
bool deterministic() noexcept { return is_deterministic.load(std::memory_order_relaxed); }

void run(int64_t chunks, void (*fn)(void*, int64_t) noexcept, void* context) noexcept {
  if (chunks < 2 || inside || pool.threads() == 1 || pool.lost()) {
    for (int64_t chunk = 0; chunk < chunks; ++chunk) fn(context, chunk);
    return;
  }
  pool.run(chunks, fn, context);
}

template <class T, class Index>
void scatter_add(T* dst, int64_t rows, int64_t width, const Index* index, int64_t n, const T* src) noexcept {
  if (threads() == 1 || n * width < scatter_min_adds) {
    scatter_rows(dst, 0, rows, width, index, n, src);
  } else if (!deterministic()) {
    // Atomic compare-and-swap accumulation: the order of the adds, so the last bits, differ from run to run.
    parallel_for(n, (n + 4 * threads() - 1) / (4 * threads()), [=](int64_t begin, int64_t end) noexcept {
      for (int64_t i = begin; i < end; ++i) {
        T* to = dst + index[i] * width;
        for (int64_t j = 0; j < width; ++j) atomic_add(to + j, src[i * width + j]);
      }
    });
  } else if (width < scatter_min_width) {
    scatter_rows(dst, 0, rows, width, index, n, src);
  } else {
    // Owner computes: every row is added to by one chunk in src's order, so any split gives the serial bits.
    parallel_for(rows, (rows + threads() - 1) / threads(), [=](int64_t begin, int64_t end) noexcept {
      scatter_rows(dst, begin, end, width, index, n, src);
    });
  }
}

}  // namespace omnigrad::parallel

OMNIGRAD_SCATTER_ADD_ALL
