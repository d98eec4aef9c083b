#include "steepest/report/replay_codec.h"

#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "steepest/base/error.h"
#include "steepest/base/json_fields.h"
#include "steepest/precision/stored.h"
#include "steepest/tensor/bridge.h"

namespace steepest {
namespace {

/// Options of FlashOptim's state formats, in its own names and with its own values.
struct BlockConfig {
  bool is_signed = true;
  bool sqrt = false;
  bool softsign = true;
  std::int64_t group_size = 32;

  static constexpr auto fields() {
    using O = BlockConfig;
    return std::tuple{field("signed", &O::is_signed, ""), field("sqrt", &O::sqrt, ""),
                      field("softsign", &O::softsign, ""), field("group_size", &O::group_size, "")};
  }
};

/// Those of its error codes.
struct ErrorConfig {
  Dtype narrow_dtype = Dtype::kBFloat16;
  std::int64_t master_bits = 24;

  static constexpr auto fields() {
    using O = ErrorConfig;
    return std::tuple{field("narrow_dtype", &O::narrow_dtype, ""),
                      field("master_bits", &O::master_bits, "")};
  }
};

StateFormat format_of(const BlockConfig& config, Rules& rules) {
  rules.require(config.group_size == 32, "group_size", config.group_size, "32");
  if (config.is_signed && !config.sqrt)
    return config.softsign ? StateFormat::kInt8 : StateFormat::kInt8Linear;
  if (config.is_signed || !config.sqrt || config.softsign)
    rules.fail({.what = fmt::format("{}: signed {}, sqrt {}, softsign {} is no format of ours",
                                    rules.path(""), config.is_signed, config.sqrt, config.softsign),
                .why = "there are signed soft-sign codes, signed linear ones and unsigned ones of "
                       "the square root"});
  return StateFormat::kInt8Published;
}

/// The file's tensors of these names, and no others.
void require_tensors(const ReplayCase& file, std::initializer_list<std::string_view> wanted,
                     Rules& rules) {
  for (const std::string_view name : wanted)
    if (!file.tensors.contains(std::string(name)))
      rules.fail({.what = fmt::format("tensor {} is missing", name)});
  for (const auto& [name, tensor] : file.tensors)
    if (std::find(wanted.begin(), wanted.end(), name) == wanted.end())
      rules.fail({.what = fmt::format("tensor {} is of a kind that no format of ours has", name)});
}

/// Our memory is read as of this type: the file's must be of it.
void require_type(const ReplayCase& file, const std::string& name, const at::Tensor& like,
                  Rules& rules) {
  const at::Tensor given = file.tensor(name);
  if (!given.defined()) return;
  if (given.scalar_type() != like.scalar_type() || given.sizes() != like.sizes())
    rules.fail({.what = fmt::format(
                    "tensor {} is {} {}, ours {} {}", name,
                    steepest::name(to_dtype(given.scalar_type())), shape_text(shape_of(given)),
                    steepest::name(to_dtype(like.scalar_type())), shape_text(shape_of(like)))});
}

/// The comparisons of one file.
class Differences {
 public:
  explicit Differences(const ReplayCase& file) : file_(file) {}

  void codes(const std::string& name, const at::Tensor& ours) {
    add(name, ours, {}, {StateComparison::Kind::kCodes, file_.codes_tolerance});
  }
  void exact(const std::string& name, const at::Tensor& ours) { add(name, ours, {}, {}); }
  void decoded(const at::Tensor& ours) { add("decoded", ours, file_.tolerance, {}); }
  std::vector<ReplayDifference> take() { return std::move(found_); }

 private:
  void add(const std::string& name, const at::Tensor& ours, const ReplayLimits& limits,
           const StateComparison& how) {
    found_.push_back(compare_tensors(name, ours, file_.tensor(name), limits, how));
  }

  const ReplayCase& file_;
  std::vector<ReplayDifference> found_;
};

std::vector<ReplayDifference> replay_blocks(const ReplayCase& file) {
  Rules rules(file.function);
  BlockConfig config;
  read_fields(file.function_options, config, rules);
  const StateFormat format = format_of(config, rules);
  require_tensors(file, {"input", "codes", "scales", "decoded"}, rules);
  rules.enforce();

  const at::Tensor input = file.tensor("input").to(at::kFloat).contiguous();
  StoredState state = make_state(input, format, config.is_signed);
  require_type(file, "codes", state.values, rules);
  require_type(file, "scales", state.scales, rules);
  rules.enforce();

  store_state(state, format, config.is_signed, input);
  Differences found(file);
  found.codes("codes", state.values);
  found.exact("scales", state.scales);
  const StoredState theirs{file.tensor("codes"), file.tensor("scales")};
  found.decoded(load_state(theirs, format, config.is_signed, at::kFloat));
  return found.take();
}

std::vector<ReplayDifference> replay_error_codes(const ReplayCase& file) {
  Rules rules(file.function);
  ErrorConfig config;
  read_fields(file.function_options, config, rules);
  rules.require(config.narrow_dtype == Dtype::kBFloat16 || config.narrow_dtype == Dtype::kFloat16,
                "narrow_dtype", config.narrow_dtype, "bfloat16 or float16");
  rules.require(config.master_bits == 24 || config.master_bits == 32, "master_bits",
                config.master_bits, "24 or 32");
  require_tensors(file, {"input", "codes", "narrow", "decoded"}, rules);
  rules.enforce();

  const WeightStorage storage{.masters = config.master_bits == 24 ? MasterFormat::k24Bit
                                                                  : MasterFormat::k32Bit};
  const at::Tensor input = file.tensor("input").to(at::kFloat).contiguous();
  const at::Tensor narrow =
      at::zeros(input.sizes(), input.options().dtype(to_scalar_type(config.narrow_dtype)));
  const at::Tensor codes = make_master(narrow, storage.masters);
  require_type(file, "codes", codes, rules);
  require_type(file, "narrow", narrow, rules);
  rules.enforce();

  store_weight(narrow, codes, storage, input, {});
  Differences found(file);
  found.codes("codes", codes);
  found.exact("narrow", narrow);
  found.decoded(load_weight(file.tensor("narrow"), file.tensor("codes"), storage));
  return found.take();
}

}  // namespace

bool is_codec(const ReplayCase& file) {
  return file.tensor("codes").defined() || file.tensor("decoded").defined();
}

std::vector<ReplayDifference> replay_codec(const ReplayCase& file) {
  return file.tensor("scales").defined() ? replay_blocks(file) : replay_error_codes(file);
}

}  // namespace steepest
