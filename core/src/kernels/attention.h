// Scaled dot-product attention of contiguous heads, and its gradients, fused: scores, softmax and products
// without an intermediate of [queries, keys] beyond what stays in cache. No mask but the causal one; masks,
// dropout and shared heads belong to the op.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omnigrad::kernels {

struct AttentionSizes {
  int64_t heads = 0, queries = 0, keys = 0, features = 0, values = 0;
  double scale = 1;     // of q k^T
  bool causal = false;  // query i sees keys 0 to i
};

// Elements of the weights that forward can leave for the gradient: softmax(q k^T scale) in the kernels' own
// order.
int64_t attention_weights(const AttentionSizes& s);

// q [heads, queries, features], k [heads, keys, features], v [heads, keys, values], y [heads, queries,
// values]. weights: attention_weights elements, or null. Workspaces in bytes, 16-byte aligned.
template <class T>
size_t attention_workspace(const AttentionSizes& s);
template <class T>
void attention(const AttentionSizes& s, const T* q, const T* k, const T* v, T* y, T* weights,
               void* workspace) noexcept;

// Gradients for the cotangent g of y; null where not wanted. weights: forward's, or null to make them again,
// to the same bits.
template <class T>
size_t attention_grad_workspace(const AttentionSizes& s);
template <class T>
void attention_grad(const AttentionSizes& s, const T* q, const T* k, const T* v, const T* g, const T* weights,
                    T* gq, T* gk, T* gv, void* workspace) noexcept;

}  // namespace omnigrad::kernels
