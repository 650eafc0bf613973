// A unit of work is as many hidden units as a tile has columns, with all their gates: the state's product and
// the cell that follows it touch nothing else. States go from step to step as packed left-hand panels, two of
// them in turn; weights are packed once.
#include "kernels/recurrent.h"

#include "kernels/panels.h"
#include "kernels/vmath.h"
#include "parallel/parallel.h"

namespace omnigrad::kernels {
namespace {

constexpr int kMaxGates = 4, kMaxKept = 5;

template <class T>
struct Plan {
  static constexpr int64_t kUnits = kTileCols<T>;
  int64_t gates, groups, blocks, padded, depth, grain;
  T *weight, *panel[2], *carry_h, *carry_c;
  size_t bytes = 0;

  // depth: of the product of a step, in the state or in the gates' gradients.
  Plan(const RecurrentSizes& s, bool grad, void* workspace) {
    gates = s.gates();
    groups = ceil_div(s.batch, kTileRows);
    blocks = ceil_div(s.hidden, kUnits);
    padded = blocks * kUnits;
    depth = grad ? gates * padded : s.hidden;
    grain = std::max<int64_t>(1, kSerialWork / std::max<int64_t>(1, s.batch * gates * kUnits * s.hidden));
    const auto take = [&](int64_t count) {
      T* p = workspace ? reinterpret_cast<T*>(static_cast<char*>(workspace) + bytes) : nullptr;
      bytes += static_cast<size_t>(round_up(count * static_cast<int64_t>(sizeof(T)), 64));
      return p;
    };
    weight = take(gates * padded * padded);
    for (T*& p : panel) p = take(groups * kTileRows * (grad ? depth : padded));
    carry_h = take(grad ? s.batch * s.hidden : 0);
    carry_c = take(grad ? s.batch * s.hidden : 0);
  }

  // Calls body(block, group) for all, blocks shared out.
  template <class Body>
  void each(const Body& body) const {
    parallel::parallel_for(blocks, grain, [&](int64_t begin, int64_t end) noexcept {
      for (int64_t b = begin; b < end; ++b)
        for (int64_t g = 0; g < groups; ++g) body(b, g);
    });
  }
};

// Part of a row of hidden units: a vector, of which `lanes` count.
template <class T>
Vec<T> load_lanes(const T* p, int lanes) {
  return lanes >= kLanes<T> ? load(p) : load_partial(p, lanes);
}
template <class T>
void store_lanes(T* p, Vec<T> v, int lanes) {
  if (lanes >= kLanes<T>) return store(p, v);
  store_partial(p, v, lanes);
}

// body(row, half, sample, unit, lanes) for the vectors of a tile that hold something.
template <class T, class Body>
void each_part(const RecurrentSizes& s, int64_t block, int64_t group, const Body& body) {
  const int rows = static_cast<int>(std::min<int64_t>(kTileRows, s.batch - group * kTileRows));
  for (int h = 0; h < 2; ++h) {
    const int64_t unit = block * kTileCols<T> + h * kLanes<T>;
    const int lanes = static_cast<int>(std::min<int64_t>(kLanes<T>, s.hidden - unit));
    if (lanes <= 0) return;
    for (int i = 0; i < rows; ++i) body(i, h, group * kTileRows + i, unit, lanes);
  }
}

// The i-th step in the order of the recurrence, and the one before it.
int64_t step_at(const RecurrentSizes& s, int64_t i) { return s.reverse ? s.time - 1 - i : i; }

template <class T>
struct Forward {
  const RecurrentSizes& s;
  const RecurrentInputs<T>& in;
  const Plan<T>& plan;
  T *y, *c, *kept;

  void pack() const {
    constexpr int64_t kU = Plan<T>::kUnits;
    parallel::parallel_for(plan.blocks, plan.grain, [&](int64_t begin, int64_t end) noexcept {
      for (int64_t b = begin; b < end; ++b)
        for (int64_t g = 0; g < plan.gates; ++g)
          interleave(in.weight + (g * s.hidden + b * kU) * s.hidden, std::min(kU, s.hidden - b * kU),
                     s.hidden, T(1), plan.weight + (b * plan.gates + g) * s.hidden * kU, kU);
    });
    for (int64_t g = 0; g < plan.groups; ++g)
      pack_group(in.h0 + g * kTileRows * s.hidden, s.batch - g * kTileRows, s.hidden, T(1),
                 plan.panel[0] + g * kTileRows * plan.padded);
  }

  void run() const {
    pack();
    for (int64_t i = 0; i < s.time; ++i) {
      const T *from = plan.panel[i & 1], *before = i > 0 ? y + step_at(s, i - 1) * s.batch * s.hidden : in.h0;
      T* to = plan.panel[(i + 1) & 1];
      const T* c_before = i > 0 ? c : in.c0;
      plan.each([=, this](int64_t block, int64_t group) noexcept {
        Tile<T> state[kMaxGates], h{};
        const int64_t at = group * kTileRows * plan.padded;
        for (int64_t g = 0; g < plan.gates; ++g)
          state[g] =
              multiply_panels(from + at, plan.weight + (block * plan.gates + g) * s.hidden * Plan<T>::kUnits,
                              static_cast<ptrdiff_t>(s.hidden));
        cell(step_at(s, i), block, group, before, c_before, state, h);
        store_by_column(h, to + at + block * Plan<T>::kUnits * kTileRows);
      });
    }
  }

  [[gnu::noinline]] void cell(int64_t t, int64_t block, int64_t group, const T* before, const T* c_before,
                              const Tile<T> (&state)[kMaxGates], Tile<T>& out) const {
    using V = Vec<T>;
    each_part<T>(s, block, group, [&](int i, int half, int64_t n, int64_t unit, int lanes) {
      const int64_t row = t * s.batch + n;
      const T* a = in.a + row * plan.gates * s.hidden + unit;
      V x[kMaxGates], u[kMaxGates], k[kMaxKept], h;
      for (int64_t g = 0; g < plan.gates; ++g) {
        x[g] = load_lanes(a + g * s.hidden, lanes);
        u[g] = state[g].v[i][half];
        if (in.bias) u[g] += load_lanes(in.bias + g * s.hidden + unit, lanes);
      }
      switch (s.cell) {
        case Cell::tanh:
          h = vtanh(x[0] + u[0]);
          break;
        case Cell::relu: {
          const V v = x[0] + u[0];
          h = select(v <= V{}, V{}, v);  // NaN stays
          break;
        }
        case Cell::lstm: {
          k[0] = vsigmoid(x[0] + u[0]);
          k[1] = vsigmoid(x[1] + u[1]);
          k[2] = vtanh(x[2] + u[2]);
          k[3] = vsigmoid(x[3] + u[3]);
          k[4] = k[1] * load_lanes(c_before + n * s.hidden + unit, lanes) + k[0] * k[2];
          store_lanes(c + n * s.hidden + unit, k[4], lanes);
          h = k[3] * vtanh(k[4]);
          break;
        }
        case Cell::gru: {
          k[0] = vsigmoid(x[0] + u[0]);
          k[1] = vsigmoid(x[1] + u[1]);
          k[3] = u[2];
          k[2] = vtanh(x[2] + k[0] * u[2]);
          h = k[2] + k[1] * (load_lanes(before + n * s.hidden + unit, lanes) - k[2]);
          break;
        }
      }
      out.v[i][half] = h;
      store_lanes(y + row * s.hidden + unit, h, lanes);
      if (!kept) return;
      for (int64_t j = 0; j < s.kept(); ++j)
        store_lanes(kept + (row * s.kept() + j) * s.hidden + unit, k[j], lanes);
    });
    // Lanes past the last hidden unit are multiplied by nothing: the next product's depth ends before them.
  }
};

template <class T>
struct Backward {
  const RecurrentSizes& s;
  const RecurrentInputs<T>& in;
  const Plan<T>& plan;
  const T *y, *kept;
  const RecurrentGrads<T>& g;

  // [block][gate, unit][kUnits]: right-hand panels for products over the gates.
  void pack() const {
    constexpr int64_t kU = Plan<T>::kUnits;
    std::fill_n(plan.weight, plan.gates * plan.padded * plan.padded, T(0));
    parallel::parallel_for(plan.blocks, plan.grain, [&](int64_t begin, int64_t end) noexcept {
      for (int64_t b = begin; b < end; ++b)
        for (int64_t gate = 0; gate < plan.gates; ++gate)
          for (int64_t unit = 0; unit < s.hidden; ++unit) {
            const T* from = in.weight + (gate * s.hidden + unit) * s.hidden + b * kU;
            T* to = plan.weight + b * plan.depth * kU + (gate * plan.padded + unit) * kU;
            std::copy_n(from, std::min(kU, s.hidden - b * kU), to);
          }
    });
  }

  void run() const {
    pack();
    std::fill_n(plan.carry_h, s.batch * s.hidden, T(0));
    std::fill_n(plan.carry_c, s.batch * s.hidden, T(0));
    if (g.gc) std::copy_n(g.gc, s.batch * s.hidden, plan.carry_c);
    for (int64_t i = s.time; i >= 0; --i) {
      const T* from = plan.panel[i & 1];
      T* to = plan.panel[(i + 1) & 1];
      plan.each([=, this](int64_t block, int64_t group) noexcept {
        const int64_t at = group * kTileRows * plan.depth;
        Tile<T> h{}, gates[kMaxGates] = {};
        if (i < s.time)
          h = multiply_panels(from + at, plan.weight + block * plan.depth * Plan<T>::kUnits,
                              static_cast<ptrdiff_t>(plan.depth));
        if (i == 0) return first_state(block, group, h);
        cell(i - 1, block, group, h, gates);
        for (int64_t k = 0; k < plan.gates; ++k)
          store_by_column(gates[k], to + at + (k * plan.padded + block * Plan<T>::kUnits) * kTileRows);
      });
    }
  }

  void first_state(int64_t block, int64_t group, const Tile<T>& h) const {
    each_part<T>(s, block, group, [&](int i, int half, int64_t n, int64_t unit, int lanes) {
      const int64_t at = n * s.hidden + unit;
      store_lanes(g.h0 + at, h.v[i][half] + load_lanes(plan.carry_h + at, lanes), lanes);
      if (g.c0) store_lanes(g.c0 + at, load_lanes(plan.carry_c + at, lanes), lanes);
    });
  }

  // From the gradient of the state after the i-th step to those of its gates; out: of the state's share.
  [[gnu::noinline]] void cell(int64_t i, int64_t block, int64_t group, const Tile<T>& next,
                              Tile<T> (&out)[kMaxGates]) const {
    using V = Vec<T>;
    const int64_t t = step_at(s, i);
    each_part<T>(s, block, group, [&](int r, int half, int64_t n, int64_t unit, int lanes) {
      const int64_t at = n * s.hidden + unit, row = t * s.batch + n, before = step_at(s, i - 1) * s.batch + n;
      const V one = splat(T(1));
      V h = next.v[r][half] + load_lanes(plan.carry_h + at, lanes), k[kMaxKept], d[kMaxGates], n_share{};
      if (g.gy) h += load_lanes(g.gy + row * s.hidden + unit, lanes);
      V carry{};
      for (int64_t j = 0; j < s.kept(); ++j)
        k[j] = load_lanes(kept + (row * s.kept() + j) * s.hidden + unit, lanes);
      switch (s.cell) {
        case Cell::tanh: {
          const V v = load_lanes(y + row * s.hidden + unit, lanes);
          d[0] = h * (one - v * v);
          break;
        }
        case Cell::relu:
          d[0] = select(load_lanes(y + row * s.hidden + unit, lanes) > V{}, h, V{});
          break;
        case Cell::lstm: {
          const T* c0 = i > 0 ? kept + (before * 5 + 4) * s.hidden + unit : in.c0 + at;
          const V bent = vtanh(k[4]);
          const V c = load_lanes(plan.carry_c + at, lanes) + h * k[3] * (one - bent * bent);
          d[0] = c * k[2] * k[0] * (one - k[0]);
          d[1] = c * load_lanes(c0, lanes) * k[1] * (one - k[1]);
          d[2] = c * k[0] * (one - k[2] * k[2]);
          d[3] = h * bent * k[3] * (one - k[3]);
          store_lanes(plan.carry_c + at, c * k[1], lanes);
          break;
        }
        case Cell::gru: {
          const T* h0 = i > 0 ? y + before * s.hidden + unit : in.h0 + at;
          d[2] = h * (one - k[1]) * (one - k[2] * k[2]);
          d[1] = h * (load_lanes(h0, lanes) - k[2]) * k[1] * (one - k[1]);
          d[0] = d[2] * k[3] * k[0] * (one - k[0]);
          n_share = d[2] * k[0];
          carry = h * k[1];
          break;
        }
      }
      store_lanes(plan.carry_h + at, carry, lanes);
      for (int64_t j = 0; j < plan.gates; ++j)
        store_lanes(g.a + (row * plan.gates + j) * s.hidden + unit, d[j], lanes);
      if (s.cell == Cell::gru) {
        store_lanes(g.state_n + row * s.hidden + unit, n_share, lanes);
        d[2] = n_share;
      }
      for (int64_t j = 0; j < plan.gates; ++j) {
        for (int l = lanes; l < kLanes<T>; ++l) d[j][l] = 0;  // a gate's padding
        out[j].v[r][half] = d[j];
      }
    });
  }
};

}  // namespace

template <class T>
size_t recurrent_workspace(const RecurrentSizes& s) {
  return Plan<T>(s, false, nullptr).bytes;
}
template <class T>
size_t recurrent_grad_workspace(const RecurrentSizes& s) {
  return Plan<T>(s, true, nullptr).bytes;
}

template <class T>
void recurrent(const RecurrentSizes& s, const RecurrentInputs<T>& in, T* y, T* c, T* kept,
               void* workspace) noexcept {
  const Plan<T> plan(s, false, workspace);
  Forward<T>{s, in, plan, y, c, kept}.run();
}

template <class T>
void recurrent_grad(const RecurrentSizes& s, const RecurrentInputs<T>& in, const T* y, const T* kept,
                    const RecurrentGrads<T>& g, void* workspace) noexcept {
  const Plan<T> plan(s, true, workspace);
  Backward<T>{s, in, plan, y, kept, g}.run();
}

#define OMNIGRAD_INSTANTIATE(T)                                                                             \
  template size_t recurrent_workspace<T>(const RecurrentSizes&);                                            \
  template size_t recurrent_grad_workspace<T>(const RecurrentSizes&);                                       \
  template void recurrent<T>(const RecurrentSizes&, const RecurrentInputs<T>&, T*, T*, T*, void*) noexcept; \
  template void recurrent_grad<T>(const RecurrentSizes&, const RecurrentInputs<T>&, const T*, const T*,     \
                                  const RecurrentGrads<T>&, void*) noexcept;
OMNIGRAD_INSTANTIATE(float)
OMNIGRAD_INSTANTIATE(double)
#undef OMNIGRAD_INSTANTIATE

}  // namespace omnigrad::kernels
