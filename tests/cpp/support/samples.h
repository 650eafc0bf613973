// For every op a generator of random valid calls. The gradient check, the fuzz and the bad input tests read
// this table; a test names each op that has no entry. Families register themselves in samples_*.cpp.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "call.h"
#include "gen.h"

namespace omnigrad::test {

using Sampler = std::function<Call(Gen&)>;
using SampleTable = std::map<std::string, Sampler>;

// By the op's name.
const SampleTable& samples();
Call sample(const std::string& op, uint64_t seed, DType dtype, bool smooth);

void add_elementwise_samples(SampleTable& table);
void add_activation_samples(SampleTable& table);  // special functions too
void add_statistics_samples(SampleTable& table);  // scans too
void add_shape_samples(SampleTable& table);
void add_index_samples(SampleTable& table);
void add_rearrange_samples(SampleTable& table);  // sorting, scatters, embeddings, logic
void add_product_samples(SampleTable& table);    // matmul, convolutions
void add_linalg_samples(SampleTable& table);     // decompositions, einsum, distances, Fourier transforms
void add_spatial_samples(SampleTable& table);    // interpolation, pooling
void add_sampling_samples(SampleTable& table);   // gridSample and its grids, lp pooling, unpooling
void add_loss_samples(SampleTable& table);       // softmax, losses
void add_sequence_samples(SampleTable& table);   // losses over alignments, recurrent layers
void add_norm_samples(SampleTable& table);       // normalisation, attention, dropout, sampling
void add_create_samples(SampleTable& table);     // creation, random, in place

}  // namespace omnigrad::test
