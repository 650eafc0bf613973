#include "samples.h"

#include <stdexcept>

namespace omnigrad::test {

const SampleTable& samples() {
  static const SampleTable table = [] {
    SampleTable t;
    add_elementwise_samples(t);
    add_activation_samples(t);
    add_statistics_samples(t);
    add_shape_samples(t);
    add_index_samples(t);
    add_rearrange_samples(t);
    add_product_samples(t);
    add_linalg_samples(t);
    add_spatial_samples(t);
    add_sampling_samples(t);
    add_loss_samples(t);
    add_norm_samples(t);
    add_sequence_samples(t);
    add_create_samples(t);
    return t;
  }();
  return table;
}

Call sample(const std::string& op, uint64_t seed, DType dtype, bool smooth) {
  const auto it = samples().find(op);
  if (it == samples().end()) throw std::runtime_error("no samples of " + op);
  Gen gen(seed, dtype, smooth);
  return it->second(gen);
}

}  // namespace omnigrad::test
