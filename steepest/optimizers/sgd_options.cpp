#include "steepest/optimizers/sgd_options.h"

namespace steepest {

void SGDOptions::check(const SGDOptions& o, Rules& rules) {
  rules.require(!o.nesterov || (o.momentum > 0 && o.dampening == 0), "nesterov", o.nesterov,
                "false unless momentum is above 0 and dampening is 0");
}

}  // namespace steepest
