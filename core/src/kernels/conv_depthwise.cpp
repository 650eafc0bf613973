// Depthwise 3x3 with unit stride, down the columns of the image: a vector of outputs meets every row once,
// and a row's three loads serve the three outputs above each other. Only columns at the sides are copied, to
// have their padding.
#include "conv_rows.h"
#include "workers.h"

namespace omnigrad::kernels {
namespace {

constexpr int64_t kTaskGroups = 4;    // that own their sums in the weight gradient: planes that lie together
constexpr int64_t kLeastGroups = 32;  // below, there would be too few such tasks

// Columns [first, first + lanes + 2) of a plane, from column `first` of it; outside it, zero.
template <class T>
class Column {
 public:
  static constexpr int kL = kLanes<T>;
  static constexpr int64_t kPitch = 2 * kL + 2;

  Column(const RowsPlan& p, const T* plane, int64_t first, T* strip) : p_(p) {
    if (first >= 0 && first + kL + 2 <= p.w.source) {
      data_ = plane + first, pitch_ = static_cast<ptrdiff_t>(p.w.source);
      return;
    }
    const int64_t begin = larger(0, first), count = smaller(p.w.source, first + kL + 2) - begin;
    const T* from = plane + begin;
    T* to = strip;
    for (int64_t y = 0; y < p.h.source; ++y, from += p.w.source, to += kPitch) {
      store(to, Vec<T>{});
      store(to + kL, Vec<T>{});
      T* q = to + (begin - first);
      int64_t i = 0;
      if (count >= kL) store(q, load(from)), i = kL;
      for (; i < count; ++i) q[i] = from[i];
    }
    data_ = strip, pitch_ = static_cast<ptrdiff_t>(kPitch);
  }

  bool has(int64_t row) const { return row >= 0 && row < p_.h.source; }
  ptrdiff_t pitch() const { return pitch_; }
  const T* row(int64_t y) const { return data_ + static_cast<ptrdiff_t>(y) * pitch_; }

 private:
  const RowsPlan& p_;
  const T* data_;
  ptrdiff_t pitch_;
};

template <class T>
int64_t strip_elements(const RowsPlan& p) {
  return p.h.source * Column<T>::kPitch;
}

// Row r of the padded plane is the first of output r, the second of r - 1, the third of r - 2. From `first`
// to `last` it is a row of the image and the loop has nothing to ask.

template <class T>
void product_column(const RowsPlan& p, const Column<T>& x, const T* weight, T bias, T* out, int lanes) {
  Vec<T> w[9];
  for (int i = 0; i < 9; ++i) w[i] = splat(weight[p.turned ? 8 - i : i]);
  const Vec<T> b = splat(bias);
  Vec<T> middle = b, low = b;  // outputs that have met one and two of their rows
  const auto step = [&](const T* q) __attribute__((always_inline)) {
    const Vec<T> v0 = load(q), v1 = load(q + 1), v2 = load(q + 2);
    const Vec<T> done = low + ((w[6] * v0 + w[7] * v1) + w[8] * v2);
    low = middle + ((w[3] * v0 + w[4] * v1) + w[5] * v2);
    middle = b + ((w[0] * v0 + w[1] * v1) + w[2] * v2);
    return done;
  };
  const ptrdiff_t width = static_cast<ptrdiff_t>(p.w.dest), end = static_cast<ptrdiff_t>(p.h.dest + 2);
  const auto edge = [&](ptrdiff_t r) {
    Vec<T> done = low;
    if (x.has(r - p.h.pad))
      done = step(x.row(r - p.h.pad));
    else
      low = middle, middle = b;
    if (r >= 2) store_partial(out + (r - 2) * width, done, lanes);
  };
  const bool whole = lanes == kLanes<T>;
  const ptrdiff_t first = static_cast<ptrdiff_t>(whole ? smaller(end, larger(2, p.h.pad)) : end);
  const ptrdiff_t last = static_cast<ptrdiff_t>(larger(first, smaller(end, p.h.source + p.h.pad)));
  for (ptrdiff_t r = 0; r < first; ++r) edge(r);
  if (first < last) {
    const T* q = x.row(first - p.h.pad);
    T* to = out + (first - 2) * width;
    for (ptrdiff_t r = first; r < last; ++r, q += x.pitch(), to += width) store(to, step(q));
  }
  for (ptrdiff_t r = last; r < end; ++r) edge(r);
}

template <class T>
void weight_grad_column(const RowsPlan& p, const Column<T>& x, const T* gy, int lanes, T* sums) {
  Vec<T> a0{}, a1{}, a2{}, a3{}, a4{}, a5{}, a6{}, a7{}, a8{};
  Vec<T> g1{}, g2{};  // of the outputs that this row is the second and third of
  const auto step = [&](Vec<T> g0, Vec<T> v0, Vec<T> v1, Vec<T> v2) __attribute__((always_inline)) {
    a0 += g0 * v0, a1 += g0 * v1, a2 += g0 * v2;
    a3 += g1 * v0, a4 += g1 * v1, a5 += g1 * v2;
    a6 += g2 * v0, a7 += g2 * v1, a8 += g2 * v2;
    g2 = g1, g1 = g0;
  };
  const ptrdiff_t width = static_cast<ptrdiff_t>(p.w.dest), end = static_cast<ptrdiff_t>(p.h.dest + 2);
  // Lanes that are no output are cut from both: the image may hold there what is not finite.
  const auto edge = [&](ptrdiff_t r) {
    const Vec<T> g0 = r < p.h.dest ? load_partial(gy + r * width, lanes) : Vec<T>{};
    if (!x.has(r - p.h.pad)) {
      g2 = g1, g1 = g0;
      return;
    }
    const T* q = x.row(r - p.h.pad);
    step(g0, load_partial(q, lanes), load_partial(q + 1, lanes), load_partial(q + 2, lanes));
  };
  const bool whole = lanes == kLanes<T>;
  const ptrdiff_t first = static_cast<ptrdiff_t>(whole ? smaller(end, larger(0, p.h.pad)) : end);
  const ptrdiff_t last = static_cast<ptrdiff_t>(larger(first, smaller(p.h.dest, p.h.source + p.h.pad)));
  for (ptrdiff_t r = 0; r < first; ++r) edge(r);
  if (first < last) {
    const T *q = x.row(first - p.h.pad), *g = gy + first * width;
    for (ptrdiff_t r = first; r < last; ++r, q += x.pitch(), g += width)
      step(load(g), load(q), load(q + 1), load(q + 2));
  }
  for (ptrdiff_t r = last; r < end; ++r) edge(r);
  const Vec<T> a[9] = {a0, a1, a2, a3, a4, a5, a6, a7, a8};
  for (int i = 0; i < 9; ++i) sums[i] += sum_lanes(a[i]);
}

int64_t parts(const RowsPlan& p) { return p.batch * p.groups; }
int64_t source_plane(const RowsPlan& p) { return p.h.source * p.w.source; }
int64_t dest_plane(const RowsPlan& p) { return p.h.dest * p.w.dest; }

}  // namespace

bool depthwise_fits(const RowsPlan& p) {
  const auto plain = [](const RowsAxis& a) { return a.taps == 3 && a.stride == 1 && a.dilation == 1; };
  return p.sources == 1 && p.dests == 1 && !p.folded && plain(p.h) && plain(p.w) && p.work() > 0;
}
bool depthwise_weight_grad_fits(const RowsPlan& p) { return depthwise_fits(p) && p.groups >= kLeastGroups; }

template <class T>
size_t depthwise_workspace(const RowsPlan& p) {
  return static_cast<size_t>(worker_count(parts(p), p.work() <= kSerialWork)) *
         Arena::bytes<T>(strip_elements<T>(p));
}

template <class T>
void depthwise_product(const RowsPlan& p, const T* source, const T* weight, const T* bias, T* dest,
                       void* workspace) noexcept {
  const size_t bytes = Arena::bytes<T>(strip_elements<T>(p));
  for_tasks(parts(p), worker_count(parts(p), p.work() <= kSerialWork),
            [&](int64_t part, int64_t worker) noexcept {
              T* const strip =
                  reinterpret_cast<T*>(static_cast<char*>(workspace) + static_cast<size_t>(worker) * bytes);
              const int64_t group = part % p.groups;
              for (int64_t plane = part * p.dest_planes; plane < (part + 1) * p.dest_planes; ++plane)
                for (int64_t j = 0; j < p.w.dest; j += kLanes<T>) {
                  const Column<T> x(p, source + plane * source_plane(p), j - p.w.pad, strip);
                  product_column(p, x, weight + group * 9, bias == nullptr ? T(0) : bias[group],
                                 dest + plane * dest_plane(p) + j,
                                 static_cast<int>(smaller(kLanes<T>, p.w.dest - j)));
                }
            });
}

template <class T>
void depthwise_weight_grad(const RowsPlan& p, const T* gy, const T* x, T* gw, void* workspace) noexcept {
  const size_t bytes = Arena::bytes<T>(strip_elements<T>(p));
  const int64_t tasks = ceil_div(p.groups, kTaskGroups);
  for_tasks(tasks, worker_count(tasks, p.work() <= kSerialWork), [&](int64_t task, int64_t worker) noexcept {
    T* const strip =
        reinterpret_cast<T*>(static_cast<char*>(workspace) + static_cast<size_t>(worker) * bytes);
    const int64_t first = task * kTaskGroups, last = smaller(p.groups, first + kTaskGroups);
    for (int64_t i = first * 9; i < last * 9; ++i) gw[i] = T(0);
    for (int64_t n = 0; n < p.batch; ++n)
      for (int64_t g = first; g < last; ++g)
        for (int64_t i = 0; i < p.dest_planes; ++i) {
          const int64_t plane = (n * p.groups + g) * p.dest_planes + i;
          for (int64_t j = 0; j < p.w.dest; j += kLanes<T>) {
            const Column<T> column(p, x + plane * source_plane(p), j - p.w.pad, strip);
            weight_grad_column(p, column, gy + plane * dest_plane(p) + j,
                               static_cast<int>(smaller(kLanes<T>, p.w.dest - j)), gw + g * 9);
          }
        }
  });
}

#define OMNIGRAD_INSTANTIATE(T)                                                                          \
  template size_t depthwise_workspace<T>(const RowsPlan&);                                               \
  template void depthwise_product<T>(const RowsPlan&, const T*, const T*, const T*, T*, void*) noexcept; \
  template void depthwise_weight_grad<T>(const RowsPlan&, const T*, const T*, T*, void*) noexcept;
OMNIGRAD_INSTANTIATE(float)
OMNIGRAD_INSTANTIATE(double)
#undef OMNIGRAD_INSTANTIATE

}  // namespace omnigrad::kernels
