#include "bench/streams.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "bench/workloads.h"

namespace steepest::bench {
namespace {

TEST(Streams, WriteWhatTheySayAndNothingElse) {
  at::set_num_threads(2);
  constexpr std::size_t kCount = 200'003;  // more than a chunk, and an odd rest
  for (const auto& [reads, writes] :
       std::vector<std::pair<int, int>>{{1, 0}, {2, 1}, {3, 2}, {4, 3}, {4, 4}}) {
    std::vector<std::vector<float>> arrays(4, std::vector<float>(kCount, 1.0f));
    // A stream adds 1e-30 of the first array to those that it writes.
    arrays[0].assign(kCount, 1e30f);
    Piece piece{{}, kCount};
    for (int k = 0; k < 4; ++k) piece.arrays[k] = arrays[k].data();
    stream({piece}, reads, writes);
    for (int k = 1; k < 4; ++k) {
      const bool written = k < reads && k >= reads - writes;
      for (const std::size_t i : {std::size_t{0}, std::size_t{65'536}, kCount - 1})
        EXPECT_EQ(arrays[k][i], written ? 2.0f : 1.0f) << reads << writes << k << " " << i;
    }
    EXPECT_EQ(arrays[0][5], 1e30f);
  }
}

// A template of libtorch's that quietly runs on one thread where OpenMP is not switched on.
TEST(Streams, LibtorchsLoopsTakeTwoThreadsHere) {
  at::set_num_threads(2);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  at::parallel_for(0, 2, 1, [&](std::int64_t, std::int64_t) {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(threads.size(), 2u);
}

TEST(Streams, StandForTheLimitOverShapesOfTheirOwn) {
  const Contender limit = stream_over({{3, 5}, {7}}, 4, 3);
  EXPECT_EQ(limit.name, "limit");
  limit.run();
}

}  // namespace
}  // namespace steepest::bench
