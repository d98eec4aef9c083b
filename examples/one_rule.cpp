// A libtorch program that changes one line: torch::optim::AdamW becomes steepest::AdamW (or Muon,
// Lion ...). It learns to tell which of two random Gaussian clouds a point comes from.
#include <steepest/optimizers/rules.h>
#include <torch/torch.h>

#include <cstdio>

int main() {
  torch::manual_seed(1);
  torch::nn::Sequential model(torch::nn::Linear(16, 64), torch::nn::Tanh(),
                              torch::nn::Linear(64, 2));

  // torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(3e-3));
  steepest::AdamW optimizer(model->parameters(), {.lr = 3e-3});
  torch::optim::StepLR scheduler(optimizer, /*step_size=*/100, /*gamma=*/0.5);

  double first = 0, last = 0;
  for (int step = 0; step < 200; ++step) {
    const auto labels = torch::randint(2, {64});
    const auto points = torch::randn({64, 16}) + labels.unsqueeze(1) * 0.8;
    optimizer.zero_grad();
    const auto loss = torch::nn::functional::cross_entropy(model->forward(points), labels);
    loss.backward();
    optimizer.step();
    scheduler.step();
    last = loss.item<double>();
    if (step == 0) first = last;
  }
  std::printf("loss %.3f -> %.3f\n", first, last);
  return last < 0.7 * first ? 0 : 1;
}
