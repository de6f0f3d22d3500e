#include "blob/s3_xml.h"

#include <array>
#include <utility>

namespace quern::blob {
namespace {

constexpr std::array<std::pair<std::string_view, char>, 5> kEntities{
    {{"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&amp;", '&'}}};

std::string unescaped(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    bool found = false;
    for (const auto& [entity, character] : kEntities) {
      if (!text.starts_with(entity)) continue;
      plain += character;
      text.remove_prefix(entity.size());
      found = true;
      break;
    }
    if (found) continue;
    plain += text.front();
    text.remove_prefix(1);
  }
  return plain;
}

}  // namespace

std::vector<std::string_view> xml_elements(std::string_view xml, std::string_view name) {
  const std::string open = "<" + std::string(name) + ">";
  const std::string close = "</" + std::string(name) + ">";
  std::vector<std::string_view> found;
  while (true) {
    const std::size_t begin = xml.find(open);
    if (begin == std::string_view::npos) return found;
    xml.remove_prefix(begin + open.size());
    const std::size_t end = xml.find(close);
    if (end == std::string_view::npos) return found;
    found.push_back(xml.substr(0, end));
    xml.remove_prefix(end + close.size());
  }
}

std::string xml_text(std::string_view xml, std::string_view name) {
  const std::vector<std::string_view> found = xml_elements(xml, name);
  return found.empty() ? "" : unescaped(found.front());
}

std::string xml_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    std::string_view as;
    for (const auto& [entity, character] : kEntities) {
      if (character == c) as = entity;
    }
    if (as.empty())
      escaped += c;
    else
      escaped += as;
  }
  return escaped;
}

}  // namespace quern::blob
