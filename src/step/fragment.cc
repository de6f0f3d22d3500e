#include "step/fragment.h"

#include <algorithm>
#include <array>

#include "step/clean_text.h"

namespace quern::step {
namespace {

constexpr std::size_t kIndexDigitsMax = 8;

struct Name {
  std::string_view text;
  FragmentKind kind;
};

// Behind the number of the child.
constexpr std::array kChildNames = {
    Name{".json", FragmentKind::ChildJson},
    Name{".blob", FragmentKind::ChildBlob},
    Name{".txt", FragmentKind::ChildText},
    Name{"-thumbnail.png", FragmentKind::ThumbnailPng},
    Name{"-thumbnail.jpg", FragmentKind::ThumbnailJpg},
    Name{".error", FragmentKind::ChildError},
};
constexpr std::array kOtherNames = {
    Name{"inherit-blob", FragmentKind::InheritBlob},
    Name{"progress", FragmentKind::Progress},
    Name{"heartbeat", FragmentKind::Heartbeat},
    Name{"done", FragmentKind::Done},
    Name{"error", FragmentKind::Error},
    Name{"failure", FragmentKind::Failure},
    Name{"cost", FragmentKind::Cost},
    Name{"note", FragmentKind::Note},
    Name{"types", FragmentKind::Types},
    Name{"links", FragmentKind::Links},
};

template <std::size_t n>
FragmentKind kind_of(const std::array<Name, n>& names, std::string_view text) {
  const auto* found = std::ranges::find(names, text, &Name::text);
  return found == names.end() ? FragmentKind::Unknown : found->kind;
}

}  // namespace

Fragment parse_fragment(std::string_view name) {
  std::size_t digits = 0;
  std::int32_t index = 0;
  while (digits < std::min(name.size(), kIndexDigitsMax) && name[digits] >= '0' &&
         name[digits] <= '9') {
    index = index * 10 + (name[digits] - '0');
    ++digits;
  }
  if (digits == 0) return {kind_of(kOtherNames, name), 0};
  const FragmentKind kind = kind_of(kChildNames, name.substr(digits));
  return {kind, kind == FragmentKind::Unknown ? 0 : index};
}

std::string to_string(const Fragment& fragment) {
  const auto* child = std::ranges::find(kChildNames, fragment.kind, &Name::kind);
  if (child != kChildNames.end()) return std::to_string(fragment.index) + std::string(child->text);
  const auto* other = std::ranges::find(kOtherNames, fragment.kind, &Name::kind);
  return std::string(other != kOtherNames.end() ? other->text : "unknown");
}

std::string parse_message(std::string_view bytes, std::size_t bytes_max) {
  std::string message = clean_text(bytes, static_cast<std::int64_t>(bytes_max));
  message.resize(cut_at_character(message, bytes_max).size());
  const std::size_t end = message.find_last_not_of(" \t\n");
  message.resize(end == std::string::npos ? 0 : end + 1);
  return message;
}

}  // namespace quern::step
