#include "bench/shapes.h"

namespace steepest::bench {

std::vector<Shape> gpt2_small(std::int64_t scale) {
  const std::int64_t width = 768 / scale;
  std::vector<Shape> shapes{{50257 / scale, width}, {1024 / scale, width}};
  for (int block = 0; block < 12; ++block)
    for (const Shape& each : std::vector<Shape>{{width},
                                                {width},
                                                {3 * width, width},
                                                {3 * width},
                                                {width, width},
                                                {width},
                                                {width},
                                                {width},
                                                {4 * width, width},
                                                {4 * width},
                                                {width, 4 * width},
                                                {width}})
      shapes.push_back(each);
  shapes.push_back({width});
  shapes.push_back({width});
  return shapes;
}

std::vector<Shape> gpt2_matrices(std::int64_t scale) {
  std::vector<Shape> matrices;
  const std::vector<Shape> all = gpt2_small(scale);
  for (std::size_t i = 2; i < all.size(); ++i)
    if (all[i].size() == 2) matrices.push_back(all[i]);
  return matrices;
}

std::vector<Shape> recipe_matrices() {
  std::vector<Shape> matrices;
  for (int block = 0; block < 4; ++block)
    for (const Shape& each : std::vector<Shape>{{384, 128}, {128, 128}, {512, 128}, {128, 512}})
      matrices.push_back(each);
  return matrices;
}

}  // namespace steepest::bench
