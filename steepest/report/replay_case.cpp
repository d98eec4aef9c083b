#include "steepest/report/replay_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "steepest/base/error.h"
#include "steepest/checkpoint/safetensors.h"
#include "steepest/tensor/bridge.h"

namespace steepest {
namespace {

/// One JSON object of the description; every wrong or unknown entry becomes a problem.
class Section {
 public:
  Section(const Json& object, std::string scope, Rules& problems)
      : object_(object), rules_(std::move(scope)), problems_(problems) {
    if (!object.is_object()) internal::wrong_type(object, "a map", "", rules_);
  }
  ~Section() { problems_.take(rules_); }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  /// The entry, or null if it is absent or JSON's null.
  const Json* find(std::string_view key) {
    known_.push_back(key);
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(std::string(key));
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  const Json* demand(std::string_view key) {
    const Json* found = find(key);
    if (found == nullptr) rules_.fail({.what = rules_.path(key) + " is missing"});
    return found;
  }
  template <class T>
  bool read(std::string_view key, T& out, bool required = false) {
    const Json* found = required ? demand(key) : find(key);
    return found != nullptr && internal::read_value(*found, out, key, rules_);
  }
  /// A map of this section, visited entry by entry.
  template <class Visit>
  void each(std::string_view key, const Json& map, Visit&& visit) {
    if (!map.is_object()) return internal::wrong_type(map, "a map", key, rules_);
    for (const auto& [name, value] : map.items()) visit(name, value);
  }
  std::string path(std::string_view key) const { return rules_.path(key); }
  Rules& rules() { return rules_; }
  /// Refuses every entry that nobody asked for: what is not understood cannot be checked.
  void refuse_others() {
    if (!object_.is_object()) return;
    for (const auto& [key, value] : object_.items())
      if (std::find(known_.begin(), known_.end(), key) == known_.end())
        internal::unknown_key(key, known_, rules_);
  }

 private:
  const Json& object_;
  Rules rules_;
  Rules& problems_;
  std::vector<std::string_view> known_;
};

void read_limits(Section& section, ReplayLimits& limits) {
  const auto not_negative = [&](std::string_view key, double value) {
    section.rules().require(at_least_zero().holds(value), key, value, at_least_zero().text);
  };
  if (section.read("rtol", limits.rtol)) not_negative("rtol", limits.rtol);
  if (section.read("atol", limits.atol)) not_negative("atol", limits.atol);
  double frob = 0;
  if (section.read("frob", frob)) {
    not_negative("frob", frob);
    limits.frob = frob;
  }
}

void read_tolerance(const Json& value, const std::string& scope, ReplayCase& out, Rules& problems) {
  Section section(value, scope, problems);
  read_limits(section, out.tolerance);
  section.find("master");
  if (section.read("codes", out.codes_tolerance))
    section.rules().require(at_least_zero().holds(out.codes_tolerance), "codes",
                            out.codes_tolerance, at_least_zero().text);
  if (const Json* states = section.find("state"))
    section.each("state", *states, [&](const std::string& key, const Json& limits) {
      Section inner(limits, section.path("state") + "." + key, problems);
      read_limits(inner, out.state_tolerance[key]);
      inner.refuse_others();
    });
  section.refuse_others();
}

std::optional<StateComparison> parse_comparison(std::string_view text) {
  using Kind = StateComparison::Kind;
  if (text == "columns up to sign") return StateComparison{Kind::kColumnsUpToSign};
  if (text == "absolute values") return StateComparison{Kind::kAbsolute};
  if (text == "skip") return StateComparison{Kind::kSkip};
  for (const auto& [prefix, kind] :
       {std::pair<std::string_view, Kind>{"codes within ", Kind::kCodes},
        {"rtol ", Kind::kRelative}}) {
    if (!text.starts_with(prefix)) continue;
    text.remove_prefix(prefix.size());
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size() && number >= 0)
      return StateComparison{kind, number};
  }
  return std::nullopt;
}

void read_params(const Json& value, Section& section, ReplayCase& out, Rules& problems) {
  section.each("params", value, [&](const std::string& name, const Json& described) {
    Section inner(described, section.path("params") + "." + name, problems);
    ReplayParam param{.name = name, .shape = {}};
    std::vector<double> shape;
    if (inner.read("shape", shape, true))
      for (const double size : shape) {
        const bool whole = size >= 0 && size < 9e15 &&
                           size == static_cast<double>(static_cast<std::int64_t>(size));
        inner.rules().require(whole, "shape", shape, "whole numbers, none negative");
        if (!whole) break;
        param.shape.push_back(static_cast<std::int64_t>(size));
      }
    if (inner.read("dtype", param.dtype, true))
      inner.rules().require(is_floating_point(param.dtype), "dtype", param.dtype,
                            "a floating-point type");
    inner.find("module");
    inner.refuse_others();
    out.params.push_back(std::move(param));
  });
}

/// The names of a JSON list; each must be a parameter.
std::vector<std::string> read_names(const Json* list, std::string_view key, const ReplayCase& file,
                                    Rules& rules) {
  std::vector<std::string> names;
  if (list == nullptr) return names;
  if (!list->is_array()) {
    internal::wrong_type(*list, "a list of parameter names", key, rules);
    return names;
  }
  for (const Json& each : *list) {
    std::string name;
    if (!internal::read_value(each, name, key, rules)) continue;
    const bool known = std::any_of(file.params.begin(), file.params.end(),
                                   [&](const ReplayParam& p) { return p.name == name; });
    rules.require(known, key, name, "a name of params");
    names.push_back(std::move(name));
  }
  return names;
}

/// Every parameter exactly once.
void require_each_once(const std::vector<std::string>& names, std::string_view key,
                       const ReplayCase& file, Rules& rules) {
  for (const ReplayParam& param : file.params) {
    const auto count = std::count(names.begin(), names.end(), param.name);
    if (count != 1)
      rules.fail({.what = fmt::format("{} lists {} {} times", rules.path(key), param.name, count),
                  .why = "every parameter must be there once"});
  }
}

void read_order(Section& section, ReplayCase& out) {
  const Json* list = section.demand("order");
  if (list == nullptr) return;
  const auto order = read_names(list, "order", out, section.rules());
  require_each_once(order, "order", out, section.rules());
  const auto place = [&](const ReplayParam& p) {
    return std::find(order.begin(), order.end(), p.name);
  };
  std::stable_sort(out.params.begin(), out.params.end(),
                   [&](const ReplayParam& a, const ReplayParam& b) { return place(a) < place(b); });
}

void read_groups(Section& section, ReplayCase& out, Rules& problems) {
  const Json* groups = section.find("groups");
  if (groups == nullptr) return;
  if (!groups->is_array() || groups->empty())
    return internal::wrong_type(*groups, "a list of groups", "groups", section.rules());
  std::vector<std::string> all;
  for (const Json& each : *groups) {
    Section inner(each, fmt::format("{}[{}]", section.path("groups"), out.groups.size()), problems);
    ReplayGroup group;
    group.params = read_names(inner.demand("params"), "params", out, inner.rules());
    if (each.is_object()) group.options = each;
    group.options.erase("params");
    all.insert(all.end(), group.params.begin(), group.params.end());
    out.groups.push_back(std::move(group));
  }
  require_each_once(all, "groups", out, section.rules());
}

void read_orthogonalization(const Json& value, const std::string& scope, ReplayCase& out,
                            Rules& problems) {
  Section section(value, scope, problems);
  Dtype dtype = Dtype::kFloat64, input = Dtype::kFloat32;
  if (section.read("dtype", dtype, true))
    section.rules().require(dtype == Dtype::kFloat64, "dtype", dtype, "float64");
  if (section.read("input", input, true)) out.float64_input = input;
  section.refuse_others();
}

void read_optimizer_run(Section& section, ReplayCase& out, Rules& problems) {
  if (const Json* optimizer = section.demand("optimizer")) {
    Section inner(*optimizer, section.path("optimizer"), problems);
    std::string target;
    inner.read("_target_", target, true);
    out.optimizer = *optimizer;
  }
  if (const Json* params = section.demand("params")) read_params(*params, section, out, problems);
  read_order(section, out);
  read_groups(section, out, problems);
  if (section.read("steps", out.steps, true))
    section.rules().require(out.steps >= 1, "steps", out.steps, "at least 1");
  if (section.read("lr", out.lr))
    section.rules().require(static_cast<int>(out.lr.size()) == out.steps, "lr", out.lr,
                            fmt::format("one number for each of the {} steps", out.steps));
  if (const Json* value = section.find("orthogonalization"))
    read_orthogonalization(*value, section.path("orthogonalization"), out, problems);
  if (const Json* value = section.find("state_compare"))
    section.each("state_compare", *value, [&](const std::string& key, const Json& how) {
      std::string text;
      if (!internal::read_value(how, text, "state_compare." + key, section.rules())) return;
      const auto parsed = parse_comparison(text);
      section.rules().require(parsed.has_value(), "state_compare." + key, text,
                              "a known comparison");
      if (parsed) out.state_compare[key] = *parsed;
    });
}

void read_description(const Json& value, ReplayCase& out, Rules& problems) {
  Section section(value, out.path.string() + ": case", problems);
  section.read("reference", out.reference, true);
  if (const Json* tolerance = section.demand("tolerance"))
    read_tolerance(*tolerance, section.path("tolerance"), out, problems);
  Rounding rounding{};
  if (section.read("rounding", rounding)) out.rounding = rounding;
  std::string expect;
  if (section.read("expect", expect)) {
    section.rules().require(expect == "mismatch", "expect", expect, "mismatch");
    out.expect_mismatch = true;
  }
  if (section.read("function", out.function)) {
    if (const Json* options = section.find("options")) out.function_options = *options;
    for (const auto key : {"dtype", "steps", "state_compare"}) section.find(key);
  } else {
    read_optimizer_run(section, out, problems);
  }
  for (const auto key : {"notes", "float64_deviation", "torch_seed"}) section.find(key);
  section.refuse_others();
}

/// A tensor's name taken apart: "grad/3/layers.0.weight" is {"grad", "3", "layers.0.weight"}.
struct TensorName {
  std::string_view kind, middle, param;
};
TensorName split(std::string_view name) {
  TensorName parts{.kind = name.substr(0, name.find('/')), .middle = {}, .param = {}};
  name.remove_prefix(std::min(name.size(), parts.kind.size() + 1));
  if (parts.kind != "init") {
    parts.middle = name.substr(0, name.find('/'));
    name.remove_prefix(std::min(name.size(), parts.middle.size() + 1));
  }
  parts.param = name;
  return parts;
}

void check_tensor(const std::string& name, const at::Tensor& tensor, const ReplayCase& file,
                  Rules& problems) {
  const auto fail = [&](std::string what) {
    problems.fail({.what = fmt::format("{}: tensor {} {}", file.path.string(), name, what)});
  };
  static const std::set<std::string_view> kKinds = {"init",       "grad",  "param", "state",
                                                    "init_state", "noise", "master"};
  const TensorName parts = split(name);
  if (!kKinds.contains(parts.kind)) return fail("is of no known kind");
  if (parts.kind == "noise") return;
  const auto param = std::find_if(file.params.begin(), file.params.end(),
                                  [&](const ReplayParam& p) { return p.name == parts.param; });
  if (param == file.params.end()) return fail("belongs to no parameter of the file");
  if (parts.kind == "state" || parts.kind == "init_state") return;
  if (parts.kind != "init") {
    int step = 0;
    const char* const end = parts.middle.data() + parts.middle.size();
    const auto [read, error] = std::from_chars(parts.middle.data(), end, step);
    if (error != std::errc() || read != end || step < 1 || step > file.steps)
      return fail(fmt::format("is of no step between 1 and {}", file.steps));
  }
  if (shape_of(tensor) != param->shape)
    return fail(fmt::format("has shape {}, its parameter {}", shape_text(shape_of(tensor)),
                            shape_text(param->shape)));
  if (parts.kind == "init" && to_dtype(tensor.scalar_type()) != param->dtype)
    fail(fmt::format("is {}, its parameter {}", steepest::name(to_dtype(tensor.scalar_type())),
                     steepest::name(param->dtype)));
}

void check_tensors(const ReplayCase& file, Rules& problems) {
  const auto demand = [&](const std::string& name) {
    if (!file.tensors.contains(name))
      problems.fail({.what = fmt::format("{}: tensor {} is missing", file.path.string(), name)});
  };
  if (!file.function.empty()) return;
  if (static_cast<std::size_t>(file.steps) > file.tensors.size()) {
    problems.fail({.what = fmt::format("{}: case.steps is {}, but the file holds {} tensors",
                                       file.path.string(), file.steps, file.tensors.size())});
    return;
  }
  for (const auto& [name, tensor] : file.tensors) check_tensor(name, tensor, file, problems);
  for (const ReplayParam& param : file.params) {
    demand("init/" + param.name);
    for (int step = 1; step <= file.steps; ++step)
      demand(fmt::format("param/{}/{}", step, param.name));
  }
}

}  // namespace

at::Tensor ReplayCase::tensor(const std::string& name) const {
  const auto found = tensors.find(name);
  return found == tensors.end() ? at::Tensor() : found->second;
}

ReplayCase read_replay_case(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  ReplayCase out;
  out.path = path;
  const auto described = file.metadata().find("case");
  if (described == file.metadata().end())
    throw ConfigError({.what = path.string() + " has no key 'case' in its metadata",
                       .why = "it describes the run that was recorded",
                       .remedy = "give files that were recorded for replay"});
  const Json description = Json::parse(described->second, nullptr, /*allow_exceptions=*/false);
  if (description.is_discarded())
    throw ConfigError({.what = path.string() + ": 'case' of its metadata is not JSON"});

  Rules problems("");
  read_description(description, out, problems);
  problems.enforce();
  for (const auto& [name, entry] : file.tensors())
    out.tensors[name] = tensor_from_bytes(entry.dtype, entry.shape, entry.bytes);
  check_tensors(out, problems);
  problems.enforce();
  return out;
}

}  // namespace steepest
