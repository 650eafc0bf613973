#include "safetensors.h"

#include <cstring>
#include <fstream>
#include <stdexcept>

namespace omnigrad::golden {
namespace {

template <class From, class To>
void convert(const uint8_t* source, int64_t n, To* target) {
  for (int64_t i = 0; i < n; ++i) {
    From value;
    std::memcpy(&value, source + i * static_cast<int64_t>(sizeof(From)), sizeof(From));
    target[i] = static_cast<To>(value);
  }
}

const char* format_name(DType t) {
  constexpr const char* names[kDTypes] = {"F32", "F64", "I32", "I64", "U8", "U8"};
  return names[static_cast<int>(t)];
}

}  // namespace

SafetensorsReader::SafetensorsReader(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  uint64_t size = 0;
  if (bytes.size() < sizeof size) throw std::runtime_error(path + ": too short");
  std::memcpy(&size, bytes.data(), sizeof size);
  if (size > bytes.size() - sizeof size) throw std::runtime_error(path + ": its header is longer than it");
  const auto header_end = bytes.begin() + static_cast<int64_t>(sizeof size + size);
  header_ = nlohmann::json::parse(bytes.begin() + sizeof size, header_end);
  data_.assign(header_end, bytes.end());
}

Tensor SafetensorsReader::load(const std::string& name, DType dtype) const {
  if (!has(name)) throw std::runtime_error(name + ": not in the file");
  const auto& entry = header_.at(name);
  const auto sizes = entry.at("shape").get<std::vector<int64_t>>();
  const std::string type = entry.at("dtype");
  const Dims shape(sizes.begin(), sizes.end());
  const int64_t n = product(shape);
  const size_t begin = entry.at("data_offsets").at(0), end = entry.at("data_offsets").at(1);
  const size_t item = type == "U8" ? 1 : type == "F32" ? 4 : 8;
  if (end > data_.size() || end - begin != static_cast<size_t>(n) * item) {
    throw std::runtime_error(name + ": its bytes do not fit its shape");
  }
  const uint8_t* source = data_.data() + begin;
  if (type == "I64") {
    Tensor t = Tensor::empty(shape, DType::int64);
    convert<int64_t>(source, n, t.data<int64_t>());
    return t;
  }
  if (type == "U8") {
    Tensor t = Tensor::empty(shape, DType::boolean);
    convert<uint8_t>(source, n, t.data<bool>());
    return t;
  }
  if (type != "F32" && type != "F64") throw std::runtime_error(name + ": dtype " + type + " is not known");
  Tensor t = Tensor::empty(shape, dtype);
  visit_floating(dtype, [&]<class T>() {
    if (type == "F32")
      convert<float>(source, n, t.data<T>());
    else
      convert<double>(source, n, t.data<T>());
  });
  return t;
}

void SafetensorsWriter::add(const std::string& name, const Tensor& t) {
  const Tensor packed = t.contiguous();
  const size_t bytes = static_cast<size_t>(packed.numel()) * size_of(packed.dtype());
  const size_t begin = data_.size();
  const auto* first = static_cast<const uint8_t*>(packed.raw());
  if (bytes > 0) data_.insert(data_.end(), first, first + bytes);
  header_[name] = {{"dtype", format_name(packed.dtype())},
                   {"shape", std::vector<int64_t>(packed.shape().begin(), packed.shape().end())},
                   {"data_offsets", {begin, begin + bytes}}};
}

void SafetensorsWriter::save(const std::string& path) const {
  std::string header = header_.dump();
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const uint64_t size = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&size), sizeof size);
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  file.write(reinterpret_cast<const char*>(data_.data()), static_cast<std::streamsize>(data_.size()));
  if (!file.flush()) throw std::runtime_error(path + ": cannot be written");
}

}  // namespace omnigrad::golden
