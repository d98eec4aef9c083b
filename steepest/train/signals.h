#pragma once

namespace steepest::train {

/// While one lives, the first SIGINT, SIGTERM or SIGHUP (the terminal was closed) is noted instead
/// of ending the process, so that the step at hand can be finished and saved; a second one ends it
/// at once. A SIGHUP that is ignored, as under nohup, stays so. Earlier handlers come back when it
/// goes. One at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The signal that came, or 0.
  int received() const;
};

/// "SIGINT", "SIGTERM", "SIGHUP", or "another signal".
const char* signal_name(int signal);

}  // namespace steepest::train
