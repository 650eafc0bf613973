// What Winograd's forward, input gradient and weight gradient share: which planes feed which, how the tiles
// lie over them, and how the work is cut into blocks that stay in the second-level cache.
#pragma once

#include "winograd.h"
#include "winograd_transform.h"

namespace omnigrad::kernels {

// A convolution from `source` to `dest`; of the input gradient, gy is the source. Axes before the last two
// are flattened into planes.
struct WinogradPlan {
  struct Lead {
    int64_t source, dest, taps;  // dest i reads source i + offset + tap * step
    int64_t offset, step;
  };
  int lead_axes = 0;
  Lead lead[kMaxConvRank];
  int64_t batch = 0, groups = 1, sources = 0, dests = 0;  // channels of a group
  int64_t source_planes = 1, dest_planes = 1, taps = 1;
  bool folded = false;  // some leading axis has taps or padding; else planes feed themselves
  int64_t source_h = 0, source_w = 0, dest_h = 0, dest_w = 0, pad_h = 0, pad_w = 0;
  int64_t tile_rows = 0, tile_cols = 0;

  int64_t source_plane(int64_t plane, int64_t tap) const;  // -1: padding
  int64_t source_size() const { return source_h * source_w; }
  int64_t dest_size() const { return dest_h * dest_w; }
  WinogradImage source_image() const {
    return {source_h, source_w, pad_h, pad_w, source_planes * source_size(), tile_cols};
  }
  WinogradImage dest_image() const { return {dest_h, dest_w, 0, 0, dest_planes * dest_size(), tile_cols}; }
  // Multiply-adds of the direct method.
  int64_t direct_work() const {
    return batch * groups * sources * dests * taps * 9 * dest_planes * dest_size();
  }
  bool pays() const;
};

WinogradPlan winograd_forward_plan(const ConvShape& s);
WinogradPlan winograd_input_grad_plan(const ConvShape& s);

// Cuts the images and tile rows into blocks of about so many bytes of evaluations and products. Every leading
// plane of an image is in the block, for the taps reach across them.
class WinogradBlocks {
 public:
  static constexpr int64_t kLeastTiles = 32;   // the transformed weight is read once a block
  static constexpr int64_t kWantedBlocks = 8;  // to share among threads

  WinogradBlocks() = default;
  // `bytes_per_tile` over all points; `planes`: those of one image that lie in the block.
  WinogradBlocks(const WinogradPlan& plan, int64_t block_bytes, int64_t bytes_per_tile, int64_t planes);

  struct Block {
    int64_t image, images, row, rows;
  };
  int64_t count() const { return image_parts_ * row_parts_; }
  Block at(int64_t i) const;
  int64_t most_images() const { return ceil_div(batch_, image_parts_); }
  int64_t most_rows() const { return ceil_div(tile_rows_, row_parts_); }

 private:
  int64_t batch_ = 0, tile_rows_ = 0, image_parts_ = 1, row_parts_ = 1;
};

}  // namespace omnigrad::kernels
