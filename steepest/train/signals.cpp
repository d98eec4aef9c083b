#include "steepest/train/signals.h"

#include <csignal>
#include <iterator>

namespace steepest::train {
namespace {

// A handler is given nothing but the signal's number: what it notes has to be reachable from
// everywhere.
volatile std::sig_atomic_t noted = 0;

extern "C" void note_signal(int signal) {
  if (noted != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  noted = signal;
}

constexpr int kStopping[] = {SIGINT, SIGTERM, SIGHUP};
constexpr int kCount = std::size(kStopping);
struct sigaction earlier[kCount];

}  // namespace

StopSignals::StopSignals() {
  noted = 0;
  struct sigaction action = {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < kCount; ++i) {
    sigaction(kStopping[i], &action, &earlier[i]);
    // nohup: the run is to outlive its terminal.
    if (kStopping[i] == SIGHUP && earlier[i].sa_handler == SIG_IGN)
      sigaction(SIGHUP, &earlier[i], nullptr);
  }
}

StopSignals::~StopSignals() {
  for (int i = 0; i < kCount; ++i) sigaction(kStopping[i], &earlier[i], nullptr);
}

int StopSignals::received() const { return noted; }

const char* signal_name(int signal) {
  switch (signal) {
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    case SIGHUP:
      return "SIGHUP";
    default:
      return "another signal";
  }
}

}  // namespace steepest::train
