// The generator's blocks (random/philox.h), many at a time, and what goes through them element by element.
#pragma once

#include <cstdint>

namespace omnigrad::kernels {

// words[4 i, 4 i + 4) is block first + i of the stream of `seed`.
void philox_blocks(uint64_t seed, uint64_t first, int64_t count, uint32_t* words) noexcept;

// y[i] = word i of the stream, from block `first` on, < dropped ? 0 : x[i] * scale.
template <class T>
void dropout(uint64_t seed, uint64_t first, uint64_t dropped, T scale, int64_t n, const T* x, T* y) noexcept;

}  // namespace omnigrad::kernels
