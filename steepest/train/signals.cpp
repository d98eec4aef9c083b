#include "steepest/train/signals.h"

#include <csignal>

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

constexpr int kStopping[] = {SIGINT, SIGTERM};
struct sigaction earlier[2];

}  // namespace

StopSignals::StopSignals() {
  noted = 0;
  struct sigaction action = {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < 2; ++i) sigaction(kStopping[i], &action, &earlier[i]);
}

StopSignals::~StopSignals() {
  for (int i = 0; i < 2; ++i) sigaction(kStopping[i], &earlier[i], nullptr);
}

int StopSignals::received() const { return noted; }

const char* signal_name(int signal) {
  switch (signal) {
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    default:
      return "another signal";
  }
}

}  // namespace steepest::train
