// Objects that every op makes and frees, from a list of freed ones: the heap, which locks in the threaded
// build, costs a sixth of a small op. Ops run on one thread, so this list needs no lock. Memory of elements
// is pool.h's.
#pragma once

#include <cstddef>
#include <new>

#include "tensor/pool.h"

namespace omnigrad {

// A base that gives T its operator new and delete. What was freed stays T's, as much as were ever alive at
// once, until the pool runs out of memory.
template <class T>
class Recycled {
 public:
  static void* operator new(size_t bytes) {
    if (!kRecycle || !freed) return ::operator new(bytes);
    Link* place = freed;
    freed = place->next;
    return place;
  }
  static void operator delete(void* place) {
    if (!kRecycle) return ::operator delete(place);
    (void)known;
    freed = new (place) Link{freed};
  }

 private:
  static constexpr bool kRecycle = OMNIGRAD_RECYCLE;
  struct Link {
    Link* next;
  };
  static void drain() noexcept {
    while (freed) {
      Link* next = freed->next;
      ::operator delete(freed);
      freed = next;
    }
  }
  static inline Link* freed = nullptr;
  static inline const bool known = pool::at_flush(&drain);
};

}  // namespace omnigrad
