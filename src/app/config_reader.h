// Reader: what was chosen for a setting, as the type that it must have. For the .cc files of
// Config.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/config.h"

namespace quern::app {

inline constexpr std::size_t kTokenFileBytesMax = 4096;

inline Error bad_value(const std::string& name, const Chosen& chosen, std::string_view expected) {
  return Error{Errc::Invalid, fmt::format("{} = '{}' (by {}): expected {}", name, chosen.text,
                                          to_string(chosen.source), expected)};
}

class Reader {
 public:
  explicit Reader(const std::map<std::string, Chosen>& chosen) : chosen_(chosen) {}

  const std::string& text(const std::string& name) const { return chosen_.at(name).text; }
  Result<bool> on_or_off(const std::string& name) const {
    const std::string& value = text(name);
    if (value == "on" || value == "1" || value == "true") return true;
    if (value == "off" || value == "0" || value == "false" || value.empty()) return false;
    return bad_value(name, chosen_.at(name), "on or off");
  }
  Result<std::int64_t> number(const std::string& name, std::int64_t min, std::int64_t max) const {
    const std::string& value = text(name);
    std::int64_t parsed = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    if (error == std::errc{} && end == value.data() + value.size() && parsed >= min &&
        parsed <= max) {
      return parsed;
    }
    return bad_value(name, chosen_.at(name), fmt::format("a number from {} to {}", min, max));
  }
  Result<std::size_t> choice(const std::string& name,
                             const std::vector<std::string_view>& of) const {
    const auto found = std::find(of.begin(), of.end(), text(name));
    if (found != of.end()) return static_cast<std::size_t>(found - of.begin());
    return bad_value(name, chosen_.at(name), fmt::format("one of {}", fmt::join(of, ", ")));
  }

 private:
  const std::map<std::string, Chosen>& chosen_;
};

// "*=127.0.0.1:8081,site.gov=192.0.2.1:80"
inline Result<std::map<std::string, std::string>> parse_mapping(const std::string& name,
                                                                const Chosen& chosen,
                                                                std::string_view example) {
  std::map<std::string, std::string> mapping;
  std::string_view rest = chosen.text;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    const std::size_t equals = one.find('=');
    if (equals == one.npos || equals == 0 || equals + 1 == one.size()) {
      return bad_value(name, chosen, fmt::format("a list such as {}", example));
    }
    mapping[std::string(one.substr(0, equals))] = one.substr(equals + 1);
  }
  return mapping;
}

// Of quern dataset: src/app/dataset_config.cc.
Result<> interpret_datasets(const Reader& read, const Lookup& environment, Config& config);
// Of quern episodes and quern clips: src/app/research_config.cc.
Result<> interpret_research(const Reader& read, Config& config);
// Of researchers: src/app/researcher_config.cc.
Result<> interpret_researchers(const Reader& read, Config& config);

}  // namespace quern::app
