#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace steepest::apps {

/// What the chosen verb does once all arguments are known to be right; returns the exit status.
using Action = std::function<int()>;

/// Each adds its verb to `app`; when it is chosen, `action` is set.
void add_train_command(CLI::App& app, Action& action);
void add_replay_command(CLI::App& app, Action& action);
void add_inspect_command(CLI::App& app, Action& action);
void add_bench_command(CLI::App& app, Action& action);

}  // namespace steepest::apps
