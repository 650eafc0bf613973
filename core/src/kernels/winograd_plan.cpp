#include "winograd_plan.h"

namespace omnigrad::kernels {
namespace {

// Tiles, strides and totals of a plan whose channels and leading axes are set.
void finish(WinogradPlan* p, const ConvShape& s, const int64_t* source, const int64_t* dest) {
  const int h = s.rank - 2, w = s.rank - 1;
  p->batch = s.batch, p->groups = s.groups;
  p->source_h = source[h], p->source_w = source[w], p->dest_h = dest[h], p->dest_w = dest[w];
  p->tile_rows = ceil_div(p->dest_h, kWinogradTile), p->tile_cols = ceil_div(p->dest_w, kWinogradTile);
  p->lead_axes = h;
  for (int i = 0; i < h; ++i) {
    WinogradPlan::Lead& a = p->lead[i];
    a.source = source[i], a.dest = dest[i], a.taps = s.kernel[i];
    p->source_planes *= a.source, p->dest_planes *= a.dest, p->taps *= a.taps;
    p->folded |= a.taps != 1 || a.offset != 0 || a.source != a.dest;
  }
}

}  // namespace

bool winograd_applies(const ConvShape& s) {
  if (s.rank < 2) return false;
  for (int i = 0; i < s.rank; ++i)
    if (s.stride[i] != 1) return false;
  for (int i = s.rank - 2; i < s.rank; ++i)
    if (s.kernel[i] != 3 || s.dilation[i] != 1) return false;
  return true;
}

WinogradPlan winograd_forward_plan(const ConvShape& s) {
  WinogradPlan p;
  p.sources = s.in_channels / s.groups, p.dests = s.out_channels / s.groups;
  p.pad_h = s.pad[s.rank - 2], p.pad_w = s.pad[s.rank - 1];
  for (int i = 0; i < s.rank - 2; ++i) p.lead[i].offset = -s.pad[i], p.lead[i].step = s.dilation[i];
  finish(&p, s, s.in, s.out);
  return p;
}

// The kernel turned about: x reads gy at x + pad - tap.
WinogradPlan winograd_input_grad_plan(const ConvShape& s) {
  WinogradPlan p;
  p.sources = s.out_channels / s.groups, p.dests = s.in_channels / s.groups;
  p.pad_h = 2 - s.pad[s.rank - 2], p.pad_w = 2 - s.pad[s.rank - 1];
  for (int i = 0; i < s.rank - 2; ++i) p.lead[i].offset = s.pad[i], p.lead[i].step = -s.dilation[i];
  finish(&p, s, s.out, s.in);
  return p;
}

int64_t WinogradPlan::source_plane(int64_t plane, int64_t tap) const {
  int64_t r = 0, size = 1;
  for (int i = lead_axes - 1; i >= 0; --i) {
    const Lead& a = lead[i];
    const int64_t q = plane % a.dest + a.offset + tap % a.taps * a.step;
    if (q < 0 || q >= a.source) return -1;
    r += q * size, size *= a.source;
    plane /= a.dest, tap /= a.taps;
  }
  return r;
}

// Costs in multiply-adds, fitted to measurements: a transform costs about as much as 90 a tile and channel,
// of the weight 100 a channel pair. Evaluations fill panels of 8 and 4 channels.
bool WinogradPlan::pays() const {
  const int64_t tiles = batch * tile_rows * tile_cols;
  if (tiles == 0 || source_planes == 0 || dest_planes == 0) return false;
  // Fewer channels go straight from rows.
  if (smaller(sources, dests) < 4 || larger(sources, dests) < 8) return false;
  const int64_t wide = round_up(dests, 4),
                products = tiles * dest_planes * taps * kWinogradSize * sources * wide;
  const int64_t transforms = tiles * 90 * (source_planes * round_up(sources, 4) + dest_planes * wide);
  const int64_t cost = products + transforms + 100 * sources * dests * taps;
  const int64_t direct = batch * dest_planes * dest_size() * taps * 9 * sources * wide;
  // Memory: the evaluations of a row of tiles over all planes, and four times the weight.
  const int64_t least_block = source_planes * tile_cols * kWinogradSize * round_up(sources, 4);
  const int64_t weight = groups * kWinogradSize * sources * dests * taps;
  return cost < direct && least_block < (int64_t{1} << 22) && weight < (int64_t{1} << 24);
}

WinogradBlocks::WinogradBlocks(const WinogradPlan& plan, int64_t block_bytes, int64_t bytes_per_tile,
                               int64_t planes)
    : batch_(plan.batch), tile_rows_(plan.tile_rows) {
  const int64_t row_tiles = larger(plan.tile_cols * planes, 1),
                image_tiles = row_tiles * larger(tile_rows_, 1);
  const int64_t fit = larger(block_bytes / larger(bytes_per_tile, 1), kLeastTiles);
  if (fit < image_tiles) {
    image_parts_ = batch_;
    row_parts_ = ceil_div(tile_rows_, larger(fit / row_tiles, 1));
  } else {
    const int64_t images =
        larger(smaller(fit / image_tiles, batch_ / kWantedBlocks), ceil_div(kLeastTiles, image_tiles));
    image_parts_ = ceil_div(batch_, images);
    row_parts_ = 1;
  }
}

WinogradBlocks::Block WinogradBlocks::at(int64_t i) const {
  const int64_t image = i / row_parts_, row = i % row_parts_;
  const int64_t image0 = image * batch_ / image_parts_, row0 = row * tile_rows_ / row_parts_;
  return {image0, (image + 1) * batch_ / image_parts_ - image0, row0,
          (row + 1) * tile_rows_ / row_parts_ - row0};
}

}  // namespace omnigrad::kernels
