// The list that spans write into.
#include "omnigrad/profile.h"

#include <chrono>
#include <utility>

namespace omnigrad::profile {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<Entry> entries;
Clock::time_point origin;
int lists = 0;
int depth = 0;  // of the spans of this list that are open

double now() { return std::chrono::duration<double, std::micro>(Clock::now() - origin).count(); }

}  // namespace

bool running = false;

void start() {
  entries.clear();
  ++lists;
  depth = 0;
  origin = Clock::now();
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
