#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace steepest::train {

/// What a progress line shows.
struct ProgressState {
  std::int64_t step = 0, max_steps = 0;
  double loss = 0, lr = 0, grad_norm = 0;
  double tokens_per_second = 0, seconds_left = 0;
};

/// "step 120/600  loss 1.934  lr 0.0381  norm 0.52  17.1k tokens/s  0:45 left"
std::string progress_text(const ProgressState& state);
/// The same behind a bar, cut to `columns`.
std::string progress_bar(const ProgressState& state, int columns);
/// "0:45", "12:03", "1:02:03".
std::string duration_text(double seconds);

/// Progress of a run, on a stream that is not owned: a bar that is redrawn on a terminal, a plain
/// line every few seconds elsewhere. A stream that cannot be written any more (a closed pipe) is
/// given up silently: training goes on.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;
  /// `out` null: silent. `bar`: redraw in place.
  Progress(std::FILE* out, bool bar, std::chrono::milliseconds interval);
  /// A bar ten times a second if `out` is a terminal, else a line every five seconds.
  static Progress on(std::FILE* out);

  /// Shows the state if it is time to, and always for the last step.
  void update(const ProgressState& state);
  /// A line of its own; a bar is moved out of its way.
  void note(std::string_view text);
  /// Leaves the bar where it is and ends its line.
  void finish();

 private:
  void put(std::string_view text);

  std::FILE* out_;
  bool bar_, bar_shown_ = false, any_ = false;
  std::chrono::milliseconds interval_;
  Clock::time_point last_{};
};

}  // namespace steepest::train
