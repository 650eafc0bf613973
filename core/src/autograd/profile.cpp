// The list that spans write into.
#include "omnigrad/profile.h"

#include <time.h>

#include <utility>

namespace omnigrad::profile {
namespace {

std::vector<Entry> entries;
double origin = 0;
int lists = 0;
int depth = 0;  // of the spans of this list that are open

// Microseconds. std::chrono would bring system_error and its texts.
double clock_now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}
double now() { return clock_now() - origin; }

}  // namespace

bool running = false;

void start() {
  entries.clear();
  ++lists;
  depth = 0;
  origin = clock_now();
  running = true;
}

std::vector<Entry> stop() {
  running = false;
  return std::exchange(entries, {});
}

void Span::open(const OpInfo& op, bool vjp) {
  place_ = static_cast<int>(entries.size());
  list_ = lists;
  const double at = now();
  entries.push_back({&op, depth++, vjp, at, at, 0});
}

// The list may have been taken away meanwhile, and another begun.
void Span::close() {
  if (!running || list_ != lists) return;
  entries[static_cast<size_t>(place_)].end = now();
  --depth;
}

void Span::count(const TensorList& outputs) {
  if (!running || list_ != lists) return;
  for (const Tensor& t : outputs) {
    if (t.defined())
      entries[static_cast<size_t>(place_)].bytes += static_cast<size_t>(t.numel()) * size_of(t.dtype());
  }
}

}  // namespace omnigrad::profile
