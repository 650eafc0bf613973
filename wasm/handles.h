// Tensors as JavaScript holds them: a slot and its generation, so that a released handle is known for what it
// is. Nothing about their arguments or their errors' way out.
#pragma once

#include <utility>
#include <vector>

#include "omnigrad/tensor.h"

namespace omnigrad::binding {

constexpr int kSlotBits = 20, kGenerations = 1 << 10;

struct Slot {
  Tensor tensor;
  int generation = 0;
};
inline std::vector<Slot> slots(1);   // slot 0 is nobody's: handle 0 means absent
inline std::vector<int> free_slots;  // room for every slot: to release never allocates

inline int add_handle(Tensor t) {
  int slot;
  if (free_slots.empty()) {
    slot = static_cast<int>(slots.size());
    if (slot >= 1 << kSlotBits)
      fail(Code::memory, "more than ", slot, " tensors are held: release some, or use scope()");
    slots.emplace_back();
    if (free_slots.capacity() < slots.size()) free_slots.reserve(2 * slots.size());
  } else {
    slot = free_slots.back();
    free_slots.pop_back();
  }
  Slot& s = slots[static_cast<size_t>(slot)];
  s.tensor = std::move(t);
  return s.generation << kSlotBits | slot;
}

inline Slot* find_slot(int handle) {
  const int slot = handle & ((1 << kSlotBits) - 1);
  if (handle <= 0 || slot >= static_cast<int>(slots.size())) return nullptr;
  Slot& s = slots[static_cast<size_t>(slot)];
  return s.tensor.defined() && s.generation == handle >> kSlotBits ? &s : nullptr;
}

inline Slot& slot_of(int handle) {
  Slot* s = find_slot(handle);
  if (!s) fail(Code::disposed, "a tensor was used after it was disposed");
  return *s;
}
inline const Tensor& tensor_of(int handle) { return slot_of(handle).tensor; }
inline Tensor tensor_or_none(int handle) { return handle ? tensor_of(handle) : Tensor(); }

inline void release_handle(int handle) {
  Slot* s = find_slot(handle);
  if (!s) return;
  s->tensor = Tensor();
  s->generation = (s->generation + 1) % kGenerations;
  free_slots.push_back(handle & ((1 << kSlotBits) - 1));
}

}  // namespace omnigrad::binding
