#include "steepest/checkpoint/json_text.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace steepest {
namespace {

/// The parser's events. Its own callbacks look through all values of a list for each of them.
class Watch : public nlohmann::json_sax<nlohmann::json> {
 public:
  Watch(int deepest, JsonText& found) : deepest_(deepest), found_(found) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool key(string_t& name) override {
    found_.repeated = !keys_.back().insert(name).second || found_.repeated;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool enter() {
    keys_.emplace_back();
    found_.deep = keys_.size() > static_cast<std::size_t>(deepest_);
    return !found_.deep;
  }
  bool leave() {
    keys_.pop_back();
    return true;
  }

  int deepest_;
  JsonText& found_;
  std::vector<std::set<std::string>> keys_;  // of the maps and lists that are open
};

}  // namespace

JsonText look_at_json(std::string_view text, int deepest) {
  JsonText found;
  Watch watch(deepest, found);
  // The parser takes a NUL for the end.
  found.valid =
      text.find('\0') == std::string_view::npos && nlohmann::json::sax_parse(text, &watch);
  return found;
}

}  // namespace steepest
