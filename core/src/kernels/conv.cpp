// Which of the three ways a convolution goes: Winograd, straight from rows, or by panels packed from the
// image. The choice looks at shape and dtype alone.
#include "conv.h"

#include "conv_gather.h"
#include "conv_rows.h"
#include "winograd.h"

namespace omnigrad::kernels {

template <class T>
size_t conv_forward_workspace(const ConvShape& s) {
  if (winograd_forward_pays(s)) return winograd_forward_workspace<T>(s);
  const RowsPlan p = rows_forward_plan(s);
  if (depthwise_fits(p)) return depthwise_workspace<T>(p);
  if (rows_pay(p, kLanes<T>)) return rows_product_workspace<T>(p);
  return gather_forward_workspace<T>(s);
}

template <class T>
void conv_forward(const ConvShape& s, const T* x, const T* weight, const T* bias, T* y,
                  void* workspace) noexcept {
  if (winograd_forward_pays(s)) return winograd_forward<T>(s, x, weight, bias, y, workspace);
  const RowsPlan p = rows_forward_plan(s);
  if (depthwise_fits(p)) return depthwise_product<T>(p, x, weight, bias, y, workspace);
  if (rows_pay(p, kLanes<T>))
    return rows_product<T>(p, x, weight, p.depth(), p.kernel_taps(), bias, y, workspace);
  gather_forward<T>(s, x, weight, bias, y, workspace);
}

template <class T>
size_t conv_input_grad_workspace(const ConvShape& s) {
  if (winograd_input_grad_pays(s)) return winograd_input_grad_workspace<T>(s);
  RowsPlan p;
  if (rows_input_grad_plan(s, &p)) {
    if (depthwise_fits(p)) return depthwise_workspace<T>(p);
    if (rows_pay(p, kLanes<T>)) return rows_product_workspace<T>(p);
  }
  return gather_input_grad_workspace<T>(s);
}

template <class T>
void conv_input_grad(const ConvShape& s, const T* gy, const T* weight, T* gx, void* workspace) noexcept {
  if (winograd_input_grad_pays(s)) return winograd_input_grad<T>(s, gy, weight, gx, workspace);
  RowsPlan p;
  if (rows_input_grad_plan(s, &p)) {
    if (depthwise_fits(p)) return depthwise_product<T>(p, gy, weight, nullptr, gx, workspace);
    if (rows_pay(p, kLanes<T>))
      return rows_product<T>(p, gy, weight, p.kernel_taps(), p.dests * p.kernel_taps(), nullptr, gx,
                             workspace);
  }
  gather_input_grad<T>(s, gy, weight, gx, workspace);
}

template <class T>
size_t conv_weight_grad_workspace(const ConvShape& s) {
  if (winograd_weight_grad_pays(s)) return winograd_weight_grad_workspace<T>(s);
  const RowsPlan p = rows_forward_plan(s);
  if (depthwise_weight_grad_fits(p)) return depthwise_workspace<T>(p);
  if (rows_weight_grad_pays(p)) return rows_weight_grad_workspace<T>(p);
  return gather_weight_grad_workspace<T>(s);
}

template <class T>
void conv_weight_grad(const ConvShape& s, const T* gy, const T* x, T* gw, void* workspace) noexcept {
  if (winograd_weight_grad_pays(s)) return winograd_weight_grad<T>(s, gy, x, gw, workspace);
  const RowsPlan p = rows_forward_plan(s);
  if (depthwise_weight_grad_fits(p)) return depthwise_weight_grad<T>(p, gy, x, gw, workspace);
  if (rows_weight_grad_pays(p)) return rows_weight_grad<T>(p, gy, x, gw, workspace);
  gather_weight_grad<T>(s, gy, x, gw, workspace);
}

#define OMNIGRAD_INSTANTIATE(T)                                                                      \
  template size_t conv_forward_workspace<T>(const ConvShape&);                                       \
  template void conv_forward<T>(const ConvShape&, const T*, const T*, const T*, T*, void*) noexcept; \
  template size_t conv_input_grad_workspace<T>(const ConvShape&);                                    \
  template void conv_input_grad<T>(const ConvShape&, const T*, const T*, T*, void*) noexcept;        \
  template size_t conv_weight_grad_workspace<T>(const ConvShape&);                                   \
  template void conv_weight_grad<T>(const ConvShape&, const T*, const T*, T*, void*) noexcept;
OMNIGRAD_INSTANTIATE(float)
OMNIGRAD_INSTANTIATE(double)
#undef OMNIGRAD_INSTANTIATE

}  // namespace omnigrad::kernels
