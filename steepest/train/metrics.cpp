#include "steepest/train/metrics.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "steepest/base/error.h"
#include "steepest/base/files.h"

namespace steepest::train {
namespace {

template <class T>
void put(Json& line, const char* key, const std::optional<T>& value) {
  if (value) line[key] = *value;
}

template <class T>
void take(const Json& line, const char* key, std::optional<T>& value) {
  if (const auto found = line.find(key); found != line.end() && found->is_number())
    value = found->get<T>();
}

/// Calls visit(line, metrics) for every whole line, in order, until it returns false.
template <class Visit>
void for_each_line(const std::string& text, Visit&& visit) {
  std::size_t start = 0;
  for (std::size_t end; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    const std::string_view line(text.data() + start, end - start);
    const Json parsed = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!parsed.is_object() || !parsed.contains("step") || !parsed["step"].is_number_integer())
      return;
    if (!visit(end + 1, StepMetrics::from_json(parsed))) return;
  }
}

}  // namespace

Json StepMetrics::to_json() const {
  Json line = Json::object();
  line["step"] = step;
  put(line, "loss", loss);
  put(line, "lr", lr);
  put(line, "wd", wd);
  put(line, "grad_norm", grad_norm);
  line["tokens"] = tokens;
  put(line, "tokens_per_second", tokens_per_second);
  put(line, "optimizer_ms", optimizer_ms);
  put(line, "skipped", skipped);
  put(line, "loss_scale", loss_scale);
  put(line, "val_loss", val_loss);
  return line;
}

StepMetrics StepMetrics::from_json(const Json& line) {
  StepMetrics metrics;
  metrics.step = line.value("step", std::int64_t{0});
  metrics.tokens = line.value("tokens", std::int64_t{0});
  take(line, "loss", metrics.loss);
  take(line, "lr", metrics.lr);
  take(line, "wd", metrics.wd);
  take(line, "grad_norm", metrics.grad_norm);
  take(line, "tokens_per_second", metrics.tokens_per_second);
  take(line, "optimizer_ms", metrics.optimizer_ms);
  take(line, "skipped", metrics.skipped);
  take(line, "loss_scale", metrics.loss_scale);
  take(line, "val_loss", metrics.val_loss);
  return metrics;
}

MetricsFile::MetricsFile(std::filesystem::path path)
    : path_(std::move(path)), out_(path_, std::ios::app) {
  if (!out_)
    throw IoError(Problem{fmt::format("'{}' cannot be written", path_.string()),
                          std::strerror(errno),
                          "make the folder writable, or give another with --out"});
}

void MetricsFile::append(const StepMetrics& metrics) {
  out_ << metrics.to_json().dump() << '\n' << std::flush;
  if (!out_)
    throw IoError(Problem{fmt::format("'{}' cannot be written", path_.string()),
                          std::strerror(errno), "make room on the disk, then go on with --resume"});
}

void MetricsFile::sync() { sync_file(path_); }

std::vector<StepMetrics> read_metrics(const std::filesystem::path& path) {
  std::vector<StepMetrics> lines;
  if (!std::filesystem::exists(path)) return lines;
  for_each_line(read_file(path), [&](std::size_t, StepMetrics metrics) {
    lines.push_back(std::move(metrics));
    return true;
  });
  return lines;
}

void truncate_metrics(const std::filesystem::path& path, std::int64_t step) {
  if (!std::filesystem::exists(path)) return;
  const std::string text = read_file(path);
  std::size_t keep = 0;
  for_each_line(text, [&](std::size_t end, const StepMetrics& metrics) {
    if (metrics.step > step) return false;
    keep = end;
    return true;
  });
  if (keep != text.size()) std::filesystem::resize_file(path, keep);
}

}  // namespace steepest::train
