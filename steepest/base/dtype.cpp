#include "steepest/base/dtype.h"

namespace steepest {

std::size_t size_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat64:
    case Dtype::kInt64:
      return 8;
    case Dtype::kFloat32:
    case Dtype::kInt32:
      return 4;
    case Dtype::kFloat16:
    case Dtype::kBFloat16:
    case Dtype::kInt16:
      return 2;
    case Dtype::kInt8:
    case Dtype::kUInt8:
    case Dtype::kBool:
      return 1;
  }
  return 0;
}

bool is_floating_point(Dtype dtype) {
  return dtype == Dtype::kFloat32 || dtype == Dtype::kFloat64 || dtype == Dtype::kFloat16 ||
         dtype == Dtype::kBFloat16;
}

}  // namespace steepest
