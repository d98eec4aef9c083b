#include "steepest/optimizers/rule_options.h"

#include "steepest/optimizers/catalogue.h"

namespace steepest {

std::string_view rule_name(const RuleOptions& options) { return catalogue()[options.index()].name; }

void validate(const RuleOptions& options, std::string_view scope) {
  std::visit([&](const auto& each) { validate(each, scope); }, options);
}

double lr(const RuleOptions& options) {
  return std::visit([](const auto& each) { return each.lr; }, options);
}
void set_lr(RuleOptions& options, double value) {
  std::visit([&](auto& each) { each.lr = value; }, options);
}
double weight_decay(const RuleOptions& options) {
  return std::visit([](const auto& each) { return each.weight_decay; }, options);
}
void set_weight_decay(RuleOptions& options, double value) {
  std::visit([&](auto& each) { each.weight_decay = value; }, options);
}

}  // namespace steepest
