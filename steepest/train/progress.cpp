#include "steepest/train/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace steepest::train {
namespace {

constexpr int kBarWidth = 20;
constexpr std::string_view kClearLine = "\r\x1b[K";

int terminal_columns(std::FILE* out) {
  struct winsize size = {};
  if (::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

std::string short_number(double value) {
  if (!std::isfinite(value)) return "-";
  if (value >= 1e6) return fmt::format("{:.1f}M", value / 1e6);
  if (value >= 1e3) return fmt::format("{:.1f}k", value / 1e3);
  return fmt::format("{:.0f}", value);
}

}  // namespace

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-:--";
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string progress_text(const ProgressState& state) {
  return fmt::format("step {}/{}  loss {:.3f}  lr {:.3g}  norm {:.2f}  {} tokens/s  {} left",
                     state.step, state.max_steps, state.loss, state.lr, state.grad_norm,
                     short_number(state.tokens_per_second), duration_text(state.seconds_left));
}

std::string progress_bar(const ProgressState& state, int columns) {
  const double share = state.max_steps > 0
                           ? static_cast<double>(state.step) / static_cast<double>(state.max_steps)
                           : 1;
  const int full = std::clamp(static_cast<int>(share * kBarWidth), 0, kBarWidth);
  std::string text = "[" + std::string(static_cast<std::size_t>(full), '=') +
                     std::string(static_cast<std::size_t>(kBarWidth - full), ' ') + "] " +
                     progress_text(state);
  if (columns > 0 && text.size() >= static_cast<std::size_t>(columns))
    text.resize(static_cast<std::size_t>(columns) - 1);
  return text;
}

Progress::Progress(std::FILE* out, bool bar, std::chrono::milliseconds interval)
    : out_(out), bar_(bar), interval_(interval) {}

Progress Progress::on(std::FILE* out) {
  using std::chrono::milliseconds;
  const bool bar = ::isatty(::fileno(out)) != 0;
  return Progress(out, bar, bar ? milliseconds(100) : milliseconds(5000));
}

void Progress::update(const ProgressState& state) {
  const auto now = Clock::now();
  const bool due = !any_ || now - last_ >= interval_ || state.step >= state.max_steps;
  if (out_ == nullptr || !due) return;
  any_ = true;
  last_ = now;
  if (bar_) {
    put(std::string(kClearLine) + progress_bar(state, terminal_columns(out_)));
    bar_shown_ = true;
  } else {
    put(progress_text(state) + "\n");
  }
}

void Progress::note(std::string_view text) {
  put((bar_shown_ ? std::string(kClearLine) : std::string()) + std::string(text) + "\n");
  bar_shown_ = false;
}

void Progress::finish() {
  if (bar_shown_) put("\n");
  bar_shown_ = false;
}

void Progress::put(std::string_view text) {
  if (out_ == nullptr) return;
  const bool written =
      std::fwrite(text.data(), 1, text.size(), out_) == text.size() && std::fflush(out_) == 0;
  if (!written) out_ = nullptr;
}

}  // namespace steepest::train
