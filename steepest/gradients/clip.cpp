#include "steepest/gradients/clip.h"

#include <cmath>
#include <limits>

namespace steepest {

double clip_factor(double norm, double max_norm) {
  if (!std::isfinite(norm)) return std::numeric_limits<double>::quiet_NaN();
  if (!(max_norm > 0)) return 1;
  const double factor = max_norm / (norm + 1e-6);
  return factor < 1 ? factor : 1;
}

}  // namespace steepest
