#include "steepest/linalg/fast_newton_schulz.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include "steepest/kernels/codecs.h"
#include "steepest/kernels/packed_bf16.h"
#include "steepest/kernels/packed_product.h"
#include "steepest/kernels/statistics.h"
#include "steepest/linalg/gram_restarts.h"
#include "steepest/tensor/bridge.h"

namespace steepest {
namespace {

using kernels::Format;
using kernels::Packed;
using kernels::PlainMatrix;
using kernels::Product;
using kernels::Unit;

/// Values whose squares make one partial sum.
constexpr std::size_t kSumChunk = 1 << 16;
/// Multiply-adds below which threads cost more than they give.
constexpr double kWorthThreads = 1 << 20;
/// Values of a matrix above which a thread does not get one, and its scratch, for itself.
constexpr std::int64_t kMostOfOne = 1 << 22;
/// A Gram form that saves less than this is not worth its rounding.
constexpr double kWorthGram = 0.9;

/// Spread of Q that bf16 products stand. Measured on spectra i^-1, error over that of libtorch's
/// standard form: `simple` with its two restarts (spread 19) 1.04, `quintic` (35) 1.06,
/// `polar_express` (71) 2 and more, so that it keeps the standard form. From 512 rows on one
/// restart is enough where at most two iterations follow it (`simple`, 62: 0.94 there and 1.3
/// below, while `quintic`, 53 with three iterations behind it, has 1.7).
constexpr double kBf16Spread = 40, kBf16SpreadOfOne = 64;
constexpr std::int64_t kBf16RowsForOne = 512;

/// Who does the pieces of a matrix's work: the calling thread, or all.
struct Team {
  bool all = false;

  /// work(i) for i < n, in any order; `cost` multiply-adds in all.
  template <class Work>
  void over(std::size_t n, double cost, const Work& work) const {
    if (!all || n < 2 || cost < kWorthThreads) {
      for (std::size_t i = 0; i < n; ++i) work(i);
      return;
    }
    std::atomic<std::size_t> next = 0;
    at::parallel_for(0, at::get_num_threads(), 1, [&](std::int64_t, std::int64_t) {
      for (std::size_t i = next++; i < n; i = next++) work(i);
    });
  }
  void multiply(const Product& p) const {
    over(p.tiles(), static_cast<double>(p.left.rows * p.right.rows * p.left.columns),
         [&](std::size_t t) { kernels::multiply_tile(p, t); });
  }
};

Format format_of(at::ScalarType type) {
  return type == at::kFloat ? Format::kF32 : type == at::kHalf ? Format::kF16 : Format::kBF16;
}

double sum_of_squares(const PlainMatrix& g, const Team& team) {
  const std::size_t n = g.rows * g.columns, bytes = g.format == Format::kF32 ? 4 : 2;
  std::vector<double> partials((n + kSumChunk - 1) / kSumChunk);
  team.over(partials.size(), static_cast<double>(n), [&](std::size_t c) {
    const std::size_t first = c * kSumChunk;
    partials[c] = kernels::read_values(g.format, static_cast<const char*>(g.values) + first * bytes,
                                       std::min(kSumChunk, n - first))
                      .squares;
  });
  double sum = 0;
  for (const double each : partials) sum += each;
  return sum;
}

double rounded_bf16(double value) {
  float wide = static_cast<float>(value);
  std::uint16_t narrow = 0;
  kernels::encode_bf16(&wide, &narrow, 1);
  kernels::decode_bf16(&narrow, &wide, 1);
  return wide;
}

/// 1 / guard(s ||g||_F); 0 for a zero matrix under scale_free. Where `narrow`, each step is rounded
/// to bf16, as operators on bf16 tensors do.
double factor(double norm, const NewtonSchulzOptions& o, bool narrow) {
  if (o.guard == NormGuard::kScaleFree) return norm == 0 ? 0 : 1 / (norm * o.safety);
  const auto kept = [&](double value) { return narrow ? rounded_bf16(value) : value; };
  norm = kept(norm);
  if (o.safety != 1) norm = kept(norm * o.safety);
  norm = o.guard == NormGuard::kAdd ? kept(norm + o.eps) : std::max(norm, kept(o.eps));
  return 1 / norm;
}

/// X is d x D, d <= D; X^T beside it, since products read both, and a place for the next one.
struct Operands {
  Packed x, xt, next_xt;
  Packed square[4];  // d x d, symmetric
};

/// Memory for one matrix at a time.
class Scratch {
 public:
  Operands take(std::size_t d, std::size_t D, Unit unit) {
    Operands all;
    all.x = {.rows = d, .columns = D, .width = kernels::panel_width(d), .unit = unit};
    all.xt = {.rows = D, .columns = d, .width = kernels::panel_width(D), .unit = unit};
    all.next_xt = all.xt;
    for (Packed& each : all.square)
      each = {.rows = d, .columns = d, .width = all.x.width, .unit = unit};
    Packed* const parts[] = {&all.x,         &all.xt,        &all.next_xt,  &all.square[0],
                             &all.square[1], &all.square[2], &all.square[3]};
    std::size_t units = 0;
    for (const Packed* each : parts) units += each->size();
    if (static_cast<std::size_t>(memory_.defined() ? memory_.numel() : 0) < units)
      memory_ = at::empty({static_cast<std::int64_t>(units)}, at::kInt);
    auto* at = static_cast<std::uint32_t*>(memory_.data_ptr());
    for (Packed* each : parts) {
      each->units = at;
      at += each->size();
      clear_unused(*each);
    }
    return all;
  }

 private:
  /// What stands beyond the rows is multiplied and thrown away: it only must not be slow or NaN.
  static void clear_unused(const Packed& m) {
    const std::size_t used = kernels::whole_tiles(m.rows) - (m.panels() - 1) * m.width;
    if (used == m.width) return;
    for (std::size_t k = 0; k < m.depth(); ++k) {
      std::uint32_t* const row = m.at(m.panels() - 1, k);
      std::fill(row + used, row + m.width, 0u);
    }
  }

  at::Tensor memory_;
};

/// One matrix through the iteration. `out` is d x D, or D x d if `tall`.
struct Iteration {
  Operands s;
  const Team& team;
  const PlainMatrix& out;
  bool tall;

  /// G <- X X^T
  void gram(const Packed& g) const {
    team.multiply({.left = s.x, .right = s.x, .columns = g, .rows = g, .symmetric = true});
  }
  /// C <- scale L R + beta A, all symmetric and commuting.
  void square(const Packed& c, const Packed& l, const Packed& r, float scale, const Packed& a,
              float beta) const {
    team.multiply({.left = l,
                   .right = r,
                   .scale = scale,
                   .add = a,
                   .beta = beta,
                   .columns = c,
                   .rows = c,
                   .symmetric = true});
  }
  /// X <- scale S X + a X, S symmetric; a = 0: without the second term.
  void apply(const Packed& f, float scale, float a) {
    team.multiply({.left = f,
                   .right = s.xt,
                   .scale = scale,
                   .add = a == 0 ? Packed{} : s.xt,
                   .beta = a,
                   .columns = s.next_xt,
                   .rows = s.x});
    std::swap(s.xt, s.next_xt);
  }
  /// The same into the result, the way round that it has.
  void apply_last(const Packed& f, float scale, float a) const {
    Product p{.left = f, .right = s.xt, .scale = scale, .add = s.xt, .beta = a, .plain = out};
    if (tall) {
      std::swap(p.left, p.right);
      p.add = s.x;
    }
    if (a == 0) p.add = {};
    team.multiply(p);
  }

  // A = X X^T;  B = b A + c A A;  X <- a X + B X
  void standard(const std::vector<NsCoefficients>& tuples) {
    for (std::size_t i = 0; i < tuples.size(); ++i) {
      const auto a = static_cast<float>(tuples[i][0]), b = static_cast<float>(tuples[i][1]);
      const auto c = static_cast<float>(tuples[i][2]);
      const Packed &A = s.square[0], &B = s.square[1];
      gram(A);
      if (c != 0) square(B, A, A, c, A, b);
      const Packed& f = c != 0 ? B : A;
      const float scale = c != 0 ? 1 : b;
      i + 1 < tuples.size() ? apply(f, scale, a) : apply_last(f, scale, a);
    }
  }

  // R = X X^T;  Z = b R + c R R;  Q <- Q Z + a Q (the first one: Z + a I);
  // R <- Z (R Z + a R) + a (R Z + a R).  At a restart, and at the end: X <- Q X.
  void by_gram(const std::vector<NsCoefficients>& tuples, const std::vector<int>& restarts) {
    const auto restart = [&](std::size_t i) {
      return std::ranges::find(restarts, static_cast<int>(i)) != restarts.end();
    };
    Packed &R = s.square[0], &Z = s.square[1], &Q = s.square[2], &T = s.square[3];
    for (std::size_t i = 0; i < tuples.size(); ++i) {
      const auto a = static_cast<float>(tuples[i][0]), b = static_cast<float>(tuples[i][1]);
      const auto c = static_cast<float>(tuples[i][2]);
      const bool first = i == 0 || restart(i);
      if (first) gram(R);
      square(Z, R, R, c, R, b);
      if (i + 1 < tuples.size() && !restart(i + 1)) {
        square(T, R, Z, 1, R, a);
        square(R, Z, T, 1, T, a);
      }
      if (first) {
        kernels::add_to_diagonal(Z, a);
        std::swap(Q, Z);
      } else {
        square(T, Q, Z, 1, Q, a);
        std::swap(Q, T);
      }
      if (i + 1 == tuples.size())
        apply_last(Q, 1, 0);
      else if (restart(i + 1))
        apply(Q, 1, 0);
    }
  }
};

double standard_flops(double d, double D, double iterations) {
  return iterations * (3 * d * d * D + d * d * d);
}
double gram_flops(double d, double D, double iterations, double restarts) {
  return 3 * (restarts + 1) * d * d * D + (4 * iterations - 3 * restarts - 3) * d * d * d;
}

}  // namespace

struct FastNewtonSchulz::Plan {
  NewtonSchulzOptions options;
  NsAlgorithm algorithm;
  std::optional<GramRestarts> restarts;      // where the Gram form may be taken
  std::optional<GramRestarts> few_for_many;  // bf16, d >= kBf16RowsForOne: instead of them
  std::vector<Scratch> scratch;

  void find_restarts() {
    const auto& tuples = options.coefficients;
    restarts = fewest_gram_restarts(tuples);
    if (options.compute_dtype != Dtype::kBFloat16 || !restarts) return;
    if (restarts->before.size() == 1 && restarts->spread < kBf16SpreadOfOne &&
        static_cast<int>(tuples.size()) - restarts->before[0] <= 2)
      few_for_many = restarts;
    const auto strict = fewest_gram_restarts(tuples, kBf16Spread);
    if (strict || algorithm != NsAlgorithm::kGram) restarts = strict;
  }
  const std::optional<GramRestarts>& restarts_for(std::int64_t d) const {
    return few_for_many && d >= kBf16RowsForOne ? few_for_many : restarts;
  }

  bool serves(at::ScalarType type) const {
    const Dtype compute = options.compute_dtype;
    const bool in = type == at::kFloat || type == at::kBFloat16 || type == at::kHalf;
    return in && options.input_dtype != Dtype::kFloat64 && options.rounding == Rounding::kR2 &&
           !options.coefficients.empty() &&
           (compute == Dtype::kFloat32 || compute == Dtype::kBFloat16) &&
           (algorithm != NsAlgorithm::kAuto || compute == Dtype::kFloat32 ||
            !kernels::has_bf16_blocks());
  }

  /// `g` contiguous, rounded to input_dtype.
  void run(const at::Tensor& g, const at::Tensor& out, NsAlgorithm way, Scratch& memory,
           const Team& team) const {
    const auto rows = static_cast<std::size_t>(g.size(0));
    const auto columns = static_cast<std::size_t>(g.size(1));
    const PlainMatrix from{format_of(g.scalar_type()), g.data_ptr(), rows, columns, columns};
    const PlainMatrix to{format_of(out.scalar_type()), out.data_ptr(), rows, columns, columns};
    const double norm = std::sqrt(sum_of_squares(from, team));
    if (!std::isfinite(norm)) return fill(out, std::numeric_limits<float>::quiet_NaN());
    if (norm == 0) return fill(out, 0);
    // As in newton_schulz(): the norm of a tensor that is as narrow as the iteration is as narrow.
    const bool narrow = from.format == Format::kBF16 && options.compute_dtype == Dtype::kBFloat16;
    const double scale = factor(norm, options, narrow);

    const bool tall = rows > columns;
    const Unit unit = options.compute_dtype == Dtype::kFloat32 ? Unit::kF32 : Unit::kBF16Pair;
    const Operands s = memory.take(std::min(rows, columns), std::max(rows, columns), unit);
    const auto& [g_rows, g_columns] = tall ? std::pair{s.xt, s.x} : std::pair{s.x, s.xt};
    team.over(
        kernels::whole_tiles(rows) / kernels::kTileRows, static_cast<double>(rows * columns),
        [&](std::size_t strip) { kernels::pack_strip(from, scale, g_rows, g_columns, strip); });
    Iteration iteration{s, team, to, tall};
    way == NsAlgorithm::kGram
        ? iteration.by_gram(options.coefficients,
                            restarts_for(std::min(g.size(0), g.size(1)))->before)
        : iteration.standard(options.coefficients);
  }

  static void fill(const at::Tensor& out, float value) {
    const auto n = static_cast<std::size_t>(out.numel());
    if (out.scalar_type() == at::kFloat) {
      std::fill_n(static_cast<float*>(out.data_ptr()), n, value);
      return;
    }
    std::uint16_t narrow = 0;
    kernels::encode_bf16(&value, &narrow, 1);
    std::fill_n(static_cast<std::uint16_t*>(out.data_ptr()), n, narrow);
  }
};

FastNewtonSchulz::FastNewtonSchulz(NewtonSchulzOptions options, NsAlgorithm algorithm)
    : plan_(std::make_unique<Plan>()) {
  plan_->options = std::move(options);
  plan_->algorithm = algorithm;
  if (algorithm == NsAlgorithm::kAuto || algorithm == NsAlgorithm::kGram) plan_->find_restarts();
}
FastNewtonSchulz::~FastNewtonSchulz() = default;
FastNewtonSchulz::FastNewtonSchulz(FastNewtonSchulz&&) noexcept = default;
FastNewtonSchulz& FastNewtonSchulz::operator=(FastNewtonSchulz&&) noexcept = default;

NsAlgorithm FastNewtonSchulz::chosen(std::int64_t rows, std::int64_t columns,
                                     at::ScalarType type) const {
  if (plan_->algorithm == NsAlgorithm::kPlain || rows == 0 || columns == 0 || !plan_->serves(type))
    return NsAlgorithm::kPlain;
  const auto& found = plan_->restarts_for(std::min(rows, columns));
  if (plan_->algorithm == NsAlgorithm::kStandard || !found) return NsAlgorithm::kStandard;
  if (plan_->algorithm == NsAlgorithm::kGram) return NsAlgorithm::kGram;
  const auto d = static_cast<double>(std::min(rows, columns));
  const auto D = static_cast<double>(std::max(rows, columns));
  const auto iterations = static_cast<double>(plan_->options.coefficients.size());
  const auto restarts = static_cast<double>(found->before.size());
  return gram_flops(d, D, iterations, restarts) < kWorthGram * standard_flops(d, D, iterations)
             ? NsAlgorithm::kGram
             : NsAlgorithm::kStandard;
}

std::vector<at::Tensor> FastNewtonSchulz::operator()(std::span<const at::Tensor> matrices) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> results;
  if (matrices.empty()) return results;
  const at::Tensor& one = matrices[0];
  const NsAlgorithm way = one.dim() == 2 && one.is_cpu()
                              ? chosen(one.size(0), one.size(1), one.scalar_type())
                              : NsAlgorithm::kPlain;
  if (way == NsAlgorithm::kPlain) {
    const at::Tensor all = newton_schulz(
        matrices.size() == 1 ? one.unsqueeze(0)
                             : at::stack(at::TensorList(matrices.data(), matrices.size())),
        plan_->options);
    for (std::size_t i = 0; i < matrices.size(); ++i)
      results.push_back(all[static_cast<std::int64_t>(i)]);
    return results;
  }

  std::vector<at::Tensor> inputs;
  const at::ScalarType type =
      plan_->options.input_dtype ? to_scalar_type(*plan_->options.input_dtype) : one.scalar_type();
  for (const at::Tensor& each : matrices) {
    inputs.push_back(each.detach().to(type).resolve_neg().contiguous());
    results.push_back(at::empty(each.sizes(), to_scalar_type(plan_->options.compute_dtype)));
  }
  // As many whole rounds as there are, a matrix a thread; all threads on each of the others.
  const auto threads =
      at::in_parallel_region() ? 1 : static_cast<std::size_t>(at::get_num_threads());
  const bool small = one.numel() <= kMostOfOne;
  const std::size_t alone = threads > 1 && small ? inputs.size() / threads * threads : 0;
  auto& scratch = plan_->scratch;
  scratch.resize(std::max(scratch.size(), alone > 0 ? threads : 1));
  if (alone > 0) {
    std::atomic<std::size_t> next = 0, worker = 0;
    at::parallel_for(0, static_cast<std::int64_t>(threads), 1, [&](std::int64_t, std::int64_t) {
      Scratch& own = scratch[worker++];
      for (std::size_t i = next++; i < alone; i = next++)
        plan_->run(inputs[i], results[i], way, own, {.all = false});
    });
  }
  for (std::size_t i = alone; i < inputs.size(); ++i)
    plan_->run(inputs[i], results[i], way, scratch[0], {.all = threads > 1});
  return results;
}

at::Tensor FastNewtonSchulz::operator()(const at::Tensor& batch) {
  const at::NoGradGuard no_grad;
  if (batch.dim() < 2 || batch.numel() == 0) return newton_schulz(batch, plan_->options);
  const std::vector<at::Tensor> results =
      (*this)(batch.reshape({-1, batch.size(-2), batch.size(-1)}).unbind());
  return (results.size() == 1 ? results[0] : at::stack(results)).reshape(batch.sizes());
}

}  // namespace steepest
