// Runs the plans that tests/golden/run.mjs made, in this build of the core.
// usage: omnigrad_golden --schema | omnigrad_golden PLANS.json RESULTS.safetensors
// Beside RESULTS it writes RESULTS.json: { "PLAN/DTYPE": { tensors: [names] } | { error } }.
#include <algorithm>
#include <exception>
#include <fstream>
#include <iostream>
#include <thread>

#include "omnigrad/op.h"
#include "parallel/parallel.h"
#include "run.h"

namespace omnigrad::golden {
namespace {

using nlohmann::json;

json run_one(const json& plan, const std::string& key, const std::string& dtype,
             std::map<std::string, SafetensorsReader>& files, SafetensorsWriter& out) {
  try {
    const std::string path = plan.at("path");
    const auto file = files.try_emplace(path, path).first;
    json names = json::array();
    for (const auto& [name, t] :
         run_plan(plan, file->second, dtype == "float32" ? DType::float32 : DType::float64)) {
      out.add(key + "/" + name, t);
      names.push_back(name);
    }
    return {{"tensors", names}};
  } catch (const std::exception& e) {
    return {{"error", e.what()}};
  }
}

int run(const std::string& plan_path, const std::string& result_path) {
  std::ifstream plan_file(plan_path);
  const json request = json::parse(plan_file);
  std::map<std::string, SafetensorsReader> files;
  SafetensorsWriter out;
  json index = json::object();
  for (size_t i = 0; i < request.at("plans").size(); ++i) {
    const json& plan = request.at("plans")[i];
    if (plan.contains("error")) continue;
    for (const std::string dtype : request.at("dtypes")) {
      const std::string key = std::to_string(i) + "/" + dtype;
      index[key] = run_one(plan, key, dtype, files, out);
    }
  }
  out.save(result_path);
  std::ofstream index_file(result_path + ".json");
  index_file << index.dump();
  return index_file.flush() ? 0 : 1;
}

}  // namespace
}  // namespace omnigrad::golden

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--schema") {
    std::cout << omnigrad::schema_json() << "\n";
    return 0;
  }
  if (argc != 3) {
    std::cerr << "usage: omnigrad_golden --schema | omnigrad_golden PLANS.json RESULTS.safetensors\n";
    return 2;
  }
  try {
    omnigrad::parallel::start(static_cast<int>(std::max(2U, std::thread::hardware_concurrency())));
    const int status = omnigrad::golden::run(argv[1], argv[2]);
    omnigrad::parallel::stop();
    return status;
  } catch (const std::exception& e) {
    std::cerr << "omnigrad_golden: " << e.what() << "\n";
    return 1;
  }
}
