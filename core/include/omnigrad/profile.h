// What calls cost: between start and stop, each call of an op and each step of a backward pass is written
// down. Only where and how long; tables and files are made outside of the core.
#pragma once

#include <vector>

#include "omnigrad/op.h"

namespace omnigrad::profile {

struct Entry {
  const OpInfo* op;
  int depth;          // how many entries this one is inside of
  bool vjp;           // a step of a backward pass, made of calls that are entries of their own
  double begin, end;  // microseconds since start()
  size_t bytes;       // of the tensors that a call made; 0 for a view and for what is made of other calls
};

void start();
// The entries in the order in which they began: what is inside one follows it.
std::vector<Entry> stop();

extern bool running;

// Writes one entry, over its own lifetime.
class Span {
 public:
  explicit Span(const OpInfo& op, bool vjp = false) {
    if (running) [[unlikely]]
      open(op, vjp);
  }
  ~Span() {
    if (place_ >= 0) [[unlikely]]
      close();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  void made(const TensorList& outputs) {
    if (place_ >= 0) [[unlikely]]
      count(outputs);
  }

 private:
  void open(const OpInfo& op, bool vjp);
  void close();
  void count(const TensorList& outputs);

  int place_ = -1;
  int list_ = 0;  // which start() made the list that place_ is in
};

}  // namespace omnigrad::profile
