// The .safetensors format, as far as the golden data uses it: F32, F64, I64 and U8. What the tensors mean is
// the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "omnigrad/tensor.h"

namespace omnigrad::golden {

class SafetensorsReader {
 public:
  explicit SafetensorsReader(const std::string& path);
  bool has(const std::string& name) const { return header_.contains(name); }
  // Floating tensors come as `dtype`, U8 as bool: the golden data has masks and no other bytes.
  Tensor load(const std::string& name, DType dtype) const;

 private:
  nlohmann::json header_;
  std::vector<uint8_t> data_;
};

class SafetensorsWriter {
 public:
  void add(const std::string& name, const Tensor& t);
  void save(const std::string& path) const;

 private:
  nlohmann::json header_ = nlohmann::json::object();
  std::vector<uint8_t> data_;
};

}  // namespace omnigrad::golden
