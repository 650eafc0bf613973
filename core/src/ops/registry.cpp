// The list of ops, and the rules that shape checks share.
#include <algorithm>

#include "omnigrad/op.h"

namespace omnigrad {
namespace {

OpEntry* registered = nullptr;

const std::vector<OpEntry*>& entries() {
  static const std::vector<OpEntry*> list = [] {
    std::vector<OpEntry*> sorted;
    for (OpEntry* e = registered; e; e = e->next) sorted.push_back(e);
    std::sort(sorted.begin(), sorted.end(),
              [](auto* a, auto* b) { return std::string_view(a->name()) < b->name(); });
    return sorted;
  }();
  return list;
}

}  // namespace

int register_op(OpEntry& entry) {
  entry.next = registered;
  registered = &entry;
  return 0;
}

const std::vector<const OpInfo*>& all_ops() {
  static const std::vector<const OpInfo*> ops = [] {
    std::vector<const OpInfo*> list;
    for (OpEntry* e : entries()) list.push_back(&info_of(*e));
    return list;
  }();
  return ops;
}

int op_index(std::string_view name) {
  const auto& list = entries();
  auto it = std::lower_bound(list.begin(), list.end(), name, [](auto* e, auto n) { return e->name() < n; });
  return it != list.end() && (*it)->name() == name ? static_cast<int>(it - list.begin()) : -1;
}

const OpInfo& op_at(size_t index) { return info_of(*entries()[index]); }

const OpInfo* find_op(std::string_view name) {
  const int index = op_index(name);
  return index < 0 ? nullptr : &op_at(static_cast<size_t>(index));
}

const char* name_of(Kind kind) {
  constexpr const char* names[] = {"floating", "number", "any", "index", "boolean", "free", "storage"};
  return names[static_cast<int>(kind)];
}

size_t OpInfo::fixed_inputs() const {
  size_t n = 0;
  while (n < inputs.size() && !inputs[n].variadic) ++n;
  return n;
}

const InputInfo& OpInfo::input_at(size_t i, size_t count) const {
  if (inputs.empty() || !inputs.back().variadic) return inputs[i];  // lists come last: there is none
  const size_t fixed = fixed_inputs();
  if (i < fixed) return inputs[i];
  const size_t group = (count - fixed) / (inputs.size() - fixed);
  return inputs[fixed + (i - fixed) / group];
}

Dims broadcast_shapes(const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims out = longer;
  const size_t lead = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& d = out[lead + i];
    if (d == shorter[i] || shorter[i] == 1) continue;
    if (d != 1) {
      fail("shapes ", a, " and ", b, " do not broadcast: sizes from the last axis on must be equal or 1");
    }
    d = shorter[i];
  }
  return out;
}

Dims broadcast_strides(const Tensor& t, const Dims& shape) {
  Dims strides(shape.size());
  const size_t lead = shape.size() - t.shape().size();
  for (size_t i = lead; i < shape.size(); ++i) {
    if (t.shape()[i - lead] == shape[i]) strides[i] = t.strides()[i - lead];
  }
  return strides;
}

int64_t normalize_dim(int64_t dim, int64_t rank) {
  if (rank == 0) fail(Code::index, "dim ", dim, " of a tensor that has none: its rank is 0");
  if (dim < -rank || dim >= rank) {
    fail(Code::index, "dim ", dim, " is out of range for rank ", rank, ": it must be in [", -rank, ", ",
         rank - 1, "]");
  }
  return dim < 0 ? dim + rank : dim;
}

Dims normalize_dims(const Dims& dims, int64_t rank) {
  Dims out;
  if (dims.empty()) {
    for (int64_t i = 0; i < rank; ++i) out.push_back(i);
    return out;
  }
  for (int64_t d : dims) out.push_back(normalize_dim(d, rank));
  std::sort(out.begin(), out.end());
  for (size_t i = 1; i < out.size(); ++i) {
    if (out[i] == out[i - 1]) fail(Code::option, "dim ", out[i], " is named twice in ", dims);
  }
  return out;
}

Dims per_axis(const Dims& given, int64_t axes, const char* option) {
  if (given.size() == 1) return Dims(static_cast<size_t>(axes), given[0]);
  if (static_cast<int64_t>(given.size()) != axes) {
    fail(Code::option, option, " ", given, " needs one number, or one for each of ", axes, " axes");
  }
  return given;
}

Dims per_axis(const Padding& given, int64_t axes, const char* option) {
  Dims out;
  if (given.pairs) {
    if (static_cast<int64_t>(given.values.size()) != 2 * axes) {
      fail(Code::option, option, " needs one [before, after] for each of ", axes, " axes, got ",
           given.values.size() / 2);
    }
    return given.values;
  }
  for (int64_t p : per_axis(given.values, axes, option)) {
    out.push_back(p);
    out.push_back(p);
  }
  return out;
}

}  // namespace omnigrad
