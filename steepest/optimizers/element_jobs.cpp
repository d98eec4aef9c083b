#include "steepest/optimizers/element_jobs.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

namespace steepest {
namespace {

static_assert(kElementChunk % kernels::kTile == 0 && kElementChunk % kernels::kBlock == 0);

/// Below this many elements threads cost more than they give.
constexpr std::size_t kWorthThreads = 1 << 15;

struct Chunk {
  std::size_t job;
  std::size_t first, count;
};

bool has_scale(const kernels::ElementRun& run) {
  return std::ranges::any_of(run.s, [](const kernels::Stream& s) {
    return s.values != nullptr && kernels::most_of(s.format) > 0;
  });
}

std::vector<Chunk> chunks_of(std::span<const ElementJob> jobs, bool scaled_only) {
  std::vector<Chunk> chunks;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (scaled_only && !has_scale(jobs[j].run)) continue;
    const std::size_t n = jobs[j].run.count;
    for (std::size_t first = 0; first < n; first += kElementChunk)
      chunks.push_back({j, first, std::min(kElementChunk, n - first)});
  }
  return chunks;
}

/// work(chunk index) for every chunk, taken in turn by whichever thread is free.
template <class Work>
void over(const std::vector<Chunk>& chunks, const Work& work) {
  std::size_t elements = 0;
  for (const Chunk& each : chunks) elements += each.count;
  const int threads = at::get_num_threads();
  if (threads == 1 || elements < kWorthThreads || at::in_parallel_region()) {
    for (std::size_t c = 0; c < chunks.size(); ++c) work(c);
    return;
  }
  std::atomic<std::size_t> next = 0;
  at::parallel_for(0, threads, 1, [&](std::int64_t, std::int64_t) {
    for (std::size_t c = next++; c < chunks.size(); c = next++) work(c);
  });
}

kernels::ElementRun part(const ElementJob& job, const Chunk& chunk) {
  kernels::ElementRun run = job.run;
  run.first += chunk.first;
  run.count = chunk.count;
  return run;
}

/// NaN wins, so that it shows.
void take_larger(float& most, float value) {
  if (!std::isnan(most) && !(value <= most)) most = value;
}

void find_scales(std::span<ElementJob> jobs) {
  const std::vector<Chunk> chunks = chunks_of(jobs, /*scaled_only=*/true);
  if (chunks.empty()) return;
  struct Most {
    float of[3] = {};
  };
  std::vector<Most> most(chunks.size());
  over(chunks, [&](std::size_t c) {
    const ElementJob& job = jobs[chunks[c].job];
    kernels::magnitudes(job.rule, part(job, chunks[c]), most[c].of);
  });
  for (const std::size_t k : {0, 1, 2}) {
    std::vector<float> largest(jobs.size(), 0);
    for (std::size_t c = 0; c < chunks.size(); ++c)
      take_larger(largest[chunks[c].job], most[c].of[k]);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      kernels::Stream& s = jobs[j].run.s[k];
      if (s.values != nullptr && kernels::most_of(s.format) > 0)
        s.store_scale = largest[j] / kernels::most_of(s.format);
    }
  }
}

}  // namespace

void run_jobs(std::span<ElementJob> jobs) {
  find_scales(jobs);
  const std::vector<Chunk> chunks = chunks_of(jobs, /*scaled_only=*/false);
  over(chunks, [&](std::size_t c) {
    const ElementJob& job = jobs[chunks[c].job];
    kernels::run(job.rule, part(job, chunks[c]));
  });
  for (ElementJob& job : jobs)
    for (kernels::Stream& s : job.run.s)
      if (s.values != nullptr && kernels::most_of(s.format) > 0)
        *static_cast<float*>(s.scales) = s.store_scale;
}

}  // namespace steepest
