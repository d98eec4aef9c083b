#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "steepest/base/files.h"
#include "steepest/base/json_fields.h"
#include "steepest/checkpoint/safetensors.h"

namespace steepest::testing_replay {

struct Floats {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

/// A recorded run that a test can spoil before it is written.
struct Recorded {
  Json description;
  std::map<std::string, Floats> tensors;

  std::string bytes() const {
    std::vector<SafetensorsEntry> entries;
    for (const auto& [name, floats] : tensors)
      entries.push_back({.name = name,
                         .dtype = Dtype::kFloat32,
                         .shape = floats.shape,
                         .bytes = std::as_bytes(std::span(floats.values))});
    return safetensors_bytes(std::move(entries), {{"case", description.dump()}});
  }
};

/// One step of torch's SGD with momentum by hand: w = 1, 2; g = 0.5, -1; lr 0.1: w = 0.95, 2.1,
/// buffer = g.
inline Recorded sgd_by_hand() {
  Recorded run;
  run.description = Json::parse(R"({
    "reference": "torch 2.13.0",
    "optimizer": {"_target_": "torch.optim.SGD", "lr": 0.1, "momentum": 0.9},
    "params": {"w": {"shape": [2], "dtype": "float32", "module": "bias"}},
    "steps": 1, "order": ["w"], "tolerance": {"rtol": 1e-6, "atol": 1e-7}, "rounding": null, "notes": ""})");
  run.tensors["init/w"] = {{2}, {1, 2}};
  run.tensors["grad/1/w"] = {{2}, {0.5F, -1}};
  run.tensors["param/1/w"] = {{2}, {0.95F, 2.1F}};
  run.tensors["state/momentum_buffer/w"] = {{2}, {0.5F, -1}};
  return run;
}

/// A folder of its own for each test.
class ReplayFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("steepest_" + std::string(test->test_suite_name()) + "_" + test->name() + "_" +
               std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const Recorded& run,
                              const std::string& name = "run.safetensors") const {
    return write(run.bytes(), name);
  }
  std::filesystem::path write(const std::string& bytes,
                              const std::string& name = "run.safetensors") const {
    const auto path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    write_file(path, bytes);
    return path;
  }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

}  // namespace steepest::testing_replay
