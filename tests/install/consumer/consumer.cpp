// All of libtorch and every installed header of ours in one file. libtorch's package file puts its
// include folder first, and with it the fmt that libtorch carries, which the program uses here.
#define FMT_HEADER_ONLY
#include <fmt/format.h>
#include <torch/torch.h>

#include <string>

#include "every_header.h"

int main() {
  torch::manual_seed(1);
  const auto ours = torch::randn({8, 8}).requires_grad_();
  const auto theirs = ours.detach().clone().requires_grad_();
  steepest::AdamW optimizer({ours}, {.lr = 0.1});
  torch::optim::AdamW reference({theirs}, torch::optim::AdamWOptions(0.1));
  for (int step = 0; step < 3; ++step) {
    ours.mutable_grad() = torch::randn({8, 8});
    theirs.mutable_grad() = ours.grad().clone();
    optimizer.step();
    reference.step();
  }
  fmt::print("fmt {}: largest difference {:.1e}\n", FMT_VERSION,
             (ours - theirs).abs().max().item<double>());
  if (!torch::allclose(ours, theirs)) return 1;
  try {
    steepest::AdamW({ours, ours});
  } catch (const steepest::ConfigError& error) {
    return std::string(error.what()).starts_with("parameter 1 of group 0 is given twice") ? 0 : 1;
  }
  return 1;
}
