// The library in full: Muon for the hidden matrices, AdamW for everything else, one global clip, a
// schedule, and a checkpoint that goes on bit for bit.
#include <steepest/steepest.h>
#include <torch/torch.h>

#include <cstdio>
#include <filesystem>

namespace {

torch::Tensor loss_of(torch::nn::Sequential& model) {
  const auto labels = torch::randint(2, {64});
  const auto points = torch::randn({64, 16}) + labels.unsqueeze(1) * 0.8;
  return torch::nn::functional::cross_entropy(model->forward(points), labels);
}

}  // namespace

int main() {
  torch::manual_seed(1);
  torch::nn::Sequential model(torch::nn::Linear(16, 64), torch::nn::Tanh(),
                              torch::nn::Linear(64, 2));

  const auto params = steepest::ParamSet::from(*model);
  auto optimizer = steepest::build_optimizer(steepest::MuonConfig{.lr = 0.02, .scalar_lr = 0.003},
                                             params, {.max_norm = 1.0});
  auto scheduler =
      steepest::LRSchedulerConfig{.lr_warmup_steps = 10}.build(*optimizer, {.max_steps = 200});
  std::printf("%s\n", optimizer->describe().c_str());

  double first = 0, last = 0;
  for (int step = 0; step < 200; ++step) {
    const auto loss = loss_of(model);
    loss.backward();
    const steepest::StepResult result = optimizer->step();
    optimizer->zero_grad();
    if (result.applied) scheduler->step();
    last = loss.item<double>();
    if (step == 0) first = last;
  }
  std::printf("loss %.3f -> %.3f\n", first, last);

  const auto folder = std::filesystem::temp_directory_path() / "steepest-example";
  const auto saved = optimizer->save(folder);
  auto again =
      steepest::build_optimizer(steepest::MuonConfig{.lr = 0.02, .scalar_lr = 0.003}, params);
  again->load(saved);
  std::printf("saved and loaded after %lld updates\n", static_cast<long long>(again->applied()));
  std::filesystem::remove_all(folder);
  return last < 0.7 * first && again->applied() == 200 ? 0 : 1;
}
