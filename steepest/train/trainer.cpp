#include "steepest/train/trainer.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "steepest/base/error.h"
#include "steepest/build/optimizer.h"
#include "steepest/checkpoint/checkpoint.h"
#include "steepest/gradients/statistics.h"
#include "steepest/train/curves.h"
#include "steepest/train/data.h"
#include "steepest/train/evaluate.h"
#include "steepest/train/memory_check.h"
#include "steepest/train/metrics.h"
#include "steepest/train/model.h"
#include "steepest/train/resume_check.h"
#include "steepest/train/run_folder.h"
#include "steepest/train/run_log.h"
#include "steepest/train/sample.h"
#include "steepest/train/signals.h"
#include "steepest/train/tensorboard.h"
#include "steepest/train/training_state.h"

namespace steepest::train {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Adds the time it lives to a part's seconds.
class Timed {
 public:
  explicit Timed(double& seconds) : seconds_(seconds) {}
  ~Timed() { seconds_ += seconds_since(start_); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  double& seconds_;
  Clock::time_point start_ = Clock::now();
};

/// The first parameter for which `tensor_of` (its weight, its gradient) holds a NaN or Inf, or
/// null.
template <class TensorOf>
const Param* first_non_finite(const ParamSet& params, const TensorOf& tensor_of) {
  std::vector<at::Tensor> tensors;
  for (const Param& each : params) tensors.push_back(tensor_of(each));
  GradientReader reader;
  reader.read(tensors);
  for (std::size_t i = 0; i < params.size(); ++i)
    if (reader.stats()[i].non_finite > 0) return &params[i];
  return nullptr;
}

/// What is open for writing once a run has been let in.
struct Outputs {
  Outputs(const RunFolder& folder, Progress& progress)
      : log(folder.log(), progress),
        metrics(folder.metrics()),
        events(folder.root(), unix_time()) {}
  void sync() {
    log.sync();
    metrics.sync();
    events.sync();
  }
  RunLog log;
  MetricsFile metrics;
  EventFile events;
};

std::string threads_text(int threads) {
  return fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");
}

PrecisionConfig precision_of(const Recipe& recipe) {
  return recipe.precision.value_or(PrecisionConfig{});
}

StepPolicy step_policy(const ClipGradNormConfig& o) {
  return {.max_norm = o.max_norm,
          .non_finite = o.non_finite,
          .grad_norm_skip_threshold = o.grad_norm_skip_threshold,
          .norm_groups = o.norm_groups,
          .exact_norm = o.exact_norm};
}

/// The recipe's optimizer; its errors name the recipe's lines.
std::unique_ptr<Optimizer> build(const Recipe& recipe, const ParamSet& params) {
  try {
    return build_optimizer(recipe.optimizer, params, step_policy(recipe.clip_grad_norm),
                           recipe.groups, precision_of(recipe), recipe.seed);
  } catch (const ConfigError& error) {
    throw located(error, recipe);
  }
}

class Run {
 public:
  explicit Run(const TrainRequest& request);
  TrainSummary go();
  /// The error of a disk, and what is left to go on from.
  IoError with_last_checkpoint(const IoError& error);

 private:
  bool resume_from_newest();
  void open_outputs(std::int64_t keep_step);
  void update();
  double forward_backward(std::int64_t first, std::int64_t count);
  void evaluate_now();
  void log_line(bool with_update);
  void save();
  void show_progress();
  void draw();
  TrainSummary summarize(Outcome outcome, int signal);
  void require_finite_weights();
  std::string last_checkpoint_text() const;
  [[noreturn]] void refuse_update(std::string what);
  [[noreturn]] void stop_non_finite(std::string what, std::string why);

  const TrainRequest& request_;
  const Recipe& recipe_;
  const StepSchedulerConfig& plan_;
  Clock::time_point started_ = Clock::now(), updating_since_ = started_;
  Progress silent_{nullptr, false, std::chrono::milliseconds(0)};
  Progress& progress_;
  TextData data_;
  Gpt model_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<LRScheduler> scheduler_;
  RunFolder folder_;
  std::shared_ptr<const void> lock_;  ///< on the folder, as long as the run lives
  Json recipe_json_;
  std::optional<Outputs> out_;

  Counters counters_;
  std::optional<std::int64_t> saved_step_;
  std::optional<fs::path> last_checkpoint_;
  PartTimes times_, times_at_line_;
  std::int64_t tokens_here_ = 0, tokens_at_line_ = 0, step_at_line_ = 0, first_step_ = 0;
  double loss_ = 0, lr_ = 0, weight_decay_ = 0;
  StepResult result_;
  std::optional<double> val_loss_;
};

Run::Run(const TrainRequest& request)
    : request_(request),
      recipe_(request.recipe),
      plan_(request.recipe.step_scheduler),
      progress_(request.progress != nullptr ? *request.progress : silent_),
      data_(TextData::load(recipe_.dataset, recipe_.model.context)),
      model_(recipe_.model, static_cast<std::uint64_t>(recipe_.seed), precision_of(recipe_).weights,
             precision_of(recipe_).gradient_dtype()),
      optimizer_(build(recipe_, model_.params())),
      scheduler_(recipe_.lr_scheduler
                     ? recipe_.lr_scheduler->build(*optimizer_, {.max_steps = plan_.max_steps})
                     : nullptr),
      folder_(request.out),
      recipe_json_(recipe_json(recipe_)) {}

TrainSummary Run::go() {
  for (const auto& other : request_.compare) RunFolder(other).require_curves();
  lock_ = folder_.open(request_.resume);
  const bool resumed = request_.resume && resume_from_newest();
  if (resumed && counters_.step >= plan_.max_steps) {
    progress_.note(
        counters_.step == plan_.max_steps
            ? fmt::format("'{}' is finished: {} of {} steps are done", folder_.root().string(),
                          counters_.step, plan_.max_steps)
            : fmt::format("'{}' has made {} steps already, more than step_scheduler.max_steps, {}; "
                          "raise it to go on",
                          folder_.root().string(), counters_.step, plan_.max_steps));
    draw();  // the process that made the last step may have been killed before it drew
    return summarize(Outcome::kAlreadyFinished, 0);
  }
  if (!resumed) {
    open_outputs(/*keep_step=*/-1);
    if (request_.resume)
      out_->log.info("there is no checkpoint to resume from: the run starts anew");
    out_->log.info(fmt::format("{} parameters, {} bytes of text to learn from, {} held out, {}",
                               model_.parameter_count(), data_.training().size(),
                               data_.held_out().size(), threads_text(at::get_num_threads())));
    evaluate_now();
    log_line(/*with_update=*/false);
  }
  step_at_line_ = first_step_ = counters_.step;
  updating_since_ = Clock::now();
  while (counters_.step < plan_.max_steps) {
    if (const int signal = request_.stop ? request_.stop() : 0; signal != 0) {
      if (saved_step_ != counters_.step) save();
      draw();
      progress_.finish();
      out_->log.info(fmt::format("stopped by {} after step {}; saved as '{}'; go on with --resume",
                                 signal_name(signal), counters_.step, last_checkpoint_->string()));
      return summarize(Outcome::kStopped, signal);
    }
    update();
    const bool last = counters_.step == plan_.max_steps;
    const bool evaluation = last || counters_.step % plan_.val_every_steps == 0;
    if (evaluation) evaluate_now();
    if (evaluation || counters_.step % plan_.log_every_steps == 0) log_line(/*with_update=*/true);
    show_progress();
    if (last || counters_.step % plan_.ckpt_every_steps == 0) save();
  }
  draw();
  progress_.finish();
  out_->log.detail(fmt::format("finished: {} steps", counters_.step));
  return summarize(Outcome::kFinished, 0);
}

bool Run::resume_from_newest() {
  const auto newest = newest_checkpoint(folder_.checkpoints());
  if (!newest.checkpoint) {
    if (newest.refused.empty()) return false;
    std::vector<Problem> problems;
    for (const auto& [path, why] : newest.refused)
      problems.push_back({fmt::format("the checkpoint '{}' is not whole", path.string()), why, ""});
    problems.back().remedy = "no whole one is left: start a run of its own with --out DIR";
    throw CheckpointError(std::move(problems));
  }
  const Checkpoint& checkpoint = *newest.checkpoint;
  if (checkpoint.values().contains("recipe")) {
    auto problems = resume_differences(checkpoint.values()["recipe"], recipe_);
    const std::string saved_text =
        checkpoint.values().value("/data/checksum"_json_pointer, std::string());
    if (saved_text != data_.checksum())
      problems.push_back(
          {fmt::format("dataset.path: the text '{}' is not the one the run was started with",
                       recipe_.dataset.path),
           "the run would not go on as if it had never stopped",
           "give the same text, or start a run of its own with --out DIR"});
    if (!problems.empty()) throw ConfigError(std::move(problems));
  }
  try {
    counters_ = restore_training(checkpoint, {model_, *optimizer_, scheduler_.get()});
  } catch (const StateError& error) {
    // A state that does not fit is a wrong input file here, not a failed run.
    throw CheckpointError(std::vector<Problem>(error.problems()));
  } catch (const Json::exception& error) {
    throw CheckpointError({.what = fmt::format("the checkpoint '{}' cannot be read: {}",
                                               checkpoint.folder().string(), error.what()),
                           .why = "its values are not what this program writes",
                           .remedy = "start a run of its own with --out DIR"});
  }
  saved_step_ = counters_.step;
  last_checkpoint_ = checkpoint.folder();
  if (counters_.step >= plan_.max_steps) return true;
  open_outputs(counters_.step);
  for (const auto& [path, why] : newest.refused)
    out_->log.warn(fmt::format("the checkpoint '{}' was passed over: {}", path.string(), why));
  const int threads = saved_threads(checkpoint);
  if (threads > 0 && threads != at::get_num_threads())
    out_->log.warn(fmt::format(
        "the checkpoint was written with {0} and this run has {1}: its last bits may differ from a "
        "run that never stopped; --threads {2} keeps them",
        threads_text(threads), threads_text(at::get_num_threads()), threads));
  out_->log.info(fmt::format("resumed from '{}' at step {}, {}", checkpoint.folder().string(),
                             counters_.step, threads_text(at::get_num_threads())));
  return true;
}

void Run::open_outputs(std::int64_t keep_step) {
  truncate_metrics(folder_.metrics(), keep_step);
  truncate_events(folder_.root(), keep_step);
  // The text is named so that the file can be used from anywhere.
  Recipe resolved = recipe_;
  resolved.dataset.path = fs::absolute(recipe_.dataset.path).lexically_normal().string();
  folder_.write_recipe(steepest::write_recipe(resolved));
  out_.emplace(folder_, progress_);
  sync_folder(folder_.root());
  for (const auto& warning : recipe_.warnings) out_->log.warn(warning);
  out_->log.detail(optimizer_->describe());
}

void Run::update() {
  const std::int64_t global = plan_.global_batch_size;
  const std::int64_t local = plan_.local_batch_size.value_or(global);
  {
    const Timed timed(times_.optimizer);
    optimizer_->zero_grad();
  }
  loss_ = 0;
  for (std::int64_t first = 0; first < global; first += local)
    loss_ += forward_backward(first, local);
  if (request_.after_backward) request_.after_backward(counters_.step, model_.params());
  if (!std::isfinite(loss_)) refuse_update(fmt::format("the loss is {}", loss_));
  const Timed timed(times_.optimizer);
  const Group& group = *optimizer_->groups().front();
  lr_ = group.lr();
  weight_decay_ = group.weight_decay();
  try {
    result_ = optimizer_->step();
  } catch (const NonFiniteError&) {
    refuse_update("a gradient is not finite");
  }
  if (result_.applied && scheduler_) scheduler_->step();
  ++counters_.step;
  counters_.tokens += global * recipe_.model.context;
  tokens_here_ += global * recipe_.model.context;
}

/// Adds the gradient of `count` windows, weighted by their share of the batch; returns their share
/// of its loss.
double Run::forward_backward(std::int64_t first, std::int64_t count) {
  const std::int64_t global = plan_.global_batch_size;
  at::Tensor windows;
  {
    const Timed timed(times_.data);
    windows = at::empty({count, data_.window()}, at::kLong);
    data_.fill_training(
        static_cast<std::uint64_t>(recipe_.seed), counters_.step, first, count, global,
        std::span(windows.data_ptr<std::int64_t>(), static_cast<std::size_t>(windows.numel())));
  }
  at::Tensor loss;
  {
    const Timed timed(times_.forward);
    loss = model_.loss(windows);
    if (count != global) loss = loss.mul(static_cast<double>(count) / static_cast<double>(global));
  }
  const Timed timed(times_.backward);
  optimizer_->scaled(loss).backward();
  return loss.item<double>();
}

void Run::evaluate_now() {
  const Timed timed(times_.evaluation);
  val_loss_ = evaluate(model_, data_);
  if (!std::isfinite(*val_loss_))
    stop_non_finite(
        fmt::format("after update {} the validation loss is {}", counters_.step, *val_loss_),
        "the model is of no use any more");
  counters_.last_val_loss = val_loss_;
  if (!counters_.best_val_loss || *val_loss_ < *counters_.best_val_loss) {
    counters_.best_val_loss = val_loss_;
    counters_.best_val_step = counters_.step;
  }
}

void Run::log_line(bool with_update) {
  StepMetrics line{.step = counters_.step, .tokens = counters_.tokens};
  if (with_update) {
    const double seconds = times_.training() - times_at_line_.training();
    const auto steps = static_cast<double>(counters_.step - step_at_line_);
    line.loss = loss_;
    line.lr = lr_;
    line.wd = weight_decay_;
    line.grad_norm = result_.grad_norm;
    line.tokens_per_second = static_cast<double>(tokens_here_ - tokens_at_line_) / seconds;
    line.optimizer_ms = 1000 * (times_.optimizer - times_at_line_.optimizer) / steps;
    line.skipped = result_.skipped;
    if (optimizer_->policy().loss_scale.mode != LossScaling::kNone)
      line.loss_scale = result_.loss_scale;
  }
  line.val_loss = std::exchange(val_loss_, std::nullopt);
  out_->metrics.append(line);
  out_->events.append(line, unix_time());
  if (line.val_loss)
    out_->log.detail(
        fmt::format("step {}: validation loss {:.4f}", counters_.step, *line.val_loss));
  times_at_line_ = times_;
  tokens_at_line_ = tokens_here_;
  step_at_line_ = counters_.step;
}

void Run::save() {
  require_finite_weights();
  const Timed timed(times_.checkpoint);
  out_->sync();
  last_checkpoint_ =
      save_training(folder_.checkpoints(), {model_, *optimizer_, scheduler_.get()}, counters_,
                    recipe_json_, data_.checksum(), request_.observe_checkpoint);
  saved_step_ = counters_.step;
  remove_old_checkpoints(folder_.checkpoints(), counters_.step, recipe_.checkpoint.keep);
  out_->log.detail(fmt::format("saved '{}'", last_checkpoint_->string()));
}

void Run::show_progress() {
  const double done = static_cast<double>(counters_.step - first_step_);
  const double left = static_cast<double>(plan_.max_steps - counters_.step);
  progress_.update({.step = counters_.step,
                    .max_steps = plan_.max_steps,
                    .loss = loss_,
                    .lr = lr_,
                    .grad_norm = result_.grad_norm,
                    .tokens_per_second = static_cast<double>(tokens_here_) / times_.training(),
                    .seconds_left = seconds_since(updating_since_) / done * left});
}

void Run::draw() {
  std::vector<Curve> curves;
  const auto add = [&](const RunFolder& run) {
    curves.push_back({run.name(), read_metrics(run.metrics())});
  };
  add(folder_);
  for (const auto& other : request_.compare) add(RunFolder(other));
  const auto problem = draw_curves(folder_.root(), curves);
  if (problem && out_) out_->log.warn(*problem);
  if (problem && !out_) progress_.note("warning: " + *problem);
}

TrainSummary Run::summarize(Outcome outcome, int signal) {
  TrainSummary summary{.outcome = outcome,
                       .signal = signal,
                       .folder = folder_.root(),
                       .parameters = model_.parameter_count(),
                       .step = counters_.step,
                       .max_steps = plan_.max_steps,
                       .tokens = counters_.tokens,
                       .tokens_here = tokens_here_,
                       .best_val_loss = counters_.best_val_loss,
                       .last_val_loss = counters_.last_val_loss,
                       .best_val_step = counters_.best_val_step,
                       .times = times_,
                       .seconds = seconds_since(started_),
                       .peak_memory_bytes = peak_memory_bytes()};
  if (outcome == Outcome::kFinished)
    summary.sample =
        printable(sample(model_, "\n", {.seed = static_cast<std::uint64_t>(recipe_.seed)}));
  return summary;
}

void Run::require_finite_weights() {
  const Param* bad =
      first_non_finite(model_.params(), [](const Param& each) { return each.value; });
  if (bad != nullptr)
    stop_non_finite(fmt::format("after update {} the weight '{}' is not finite", counters_.step,
                                bad->info.name),
                    "a checkpoint of it would be of no use");
}

/// The loss or a gradient of the update at hand is not finite.
void Run::refuse_update(std::string what) {
  const Param* bad =
      first_non_finite(model_.params(), [](const Param& each) { return each.value.grad(); });
  if (bad != nullptr)
    what +=
        fmt::format("; the first parameter whose gradient is not finite is '{}'", bad->info.name);
  stop_non_finite(fmt::format("update {}: {}", counters_.step + 1, what),
                  "the update was not made: no weight, moment or counter was touched");
}

std::string Run::last_checkpoint_text() const {
  return last_checkpoint_
             ? fmt::format("the last good checkpoint is '{}'", last_checkpoint_->string())
             : "no checkpoint had been saved yet";
}

IoError Run::with_last_checkpoint(const IoError& error) {
  std::vector<Problem> problems = error.problems();
  if (!out_ || problems.empty()) return error;
  auto& remedy = problems.back().remedy;
  remedy += (remedy.empty() ? "" : "; ") + last_checkpoint_text();
  if (last_checkpoint_) remedy += ", from which --resume goes on";
  progress_.finish();
  out_->log.error(problems.back().text());
  return IoError(std::move(problems));
}

void Run::stop_non_finite(std::string what, std::string why) {
  const Problem problem{std::move(what), std::move(why),
                        "lower the learning rate or clip gradients; " + last_checkpoint_text()};
  progress_.finish();
  if (out_) out_->log.error(problem.text());
  throw NonFiniteError(problem);
}

}  // namespace

TrainSummary train(const TrainRequest& request) {
  if (request.threads > 0) at::set_num_threads(request.threads);
  require_memory(request.recipe, machine_memory());
  Run run(request);
  try {
    return run.go();
  } catch (const IoError& error) {
    throw run.with_last_checkpoint(error);
  }
}

}  // namespace steepest::train
