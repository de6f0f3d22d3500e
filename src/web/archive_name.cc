#include "web/archive_name.h"

#include <fmt/format.h>

#include <charconv>

namespace quern::web {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kEnding = ".warc.gz";
constexpr std::size_t kMadeDigits = 8;
constexpr std::size_t kTimeDigits = 14;
constexpr std::size_t kRandomDigits = 12;

bool is_made_of(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

// "17" of "j17".
std::optional<std::int64_t> number_behind(std::string_view text, char letter) {
  if (text.empty() || text[0] != letter || !is_made_of(text.substr(1), kDigits)) return {};
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  if (failed != std::errc{} || end != text.data() + text.size()) return {};
  return number;
}

// Takes what stands before the next "-", or all of it.
std::string_view take_part(std::string_view& text) {
  const std::size_t dash = text.find('-');
  const std::string_view part = text.substr(0, dash);
  text.remove_prefix(dash == std::string_view::npos ? text.size() : dash + 1);
  return part;
}

}  // namespace

std::string archive_prefix(const ArchiveOwner& owner) {
  return fmt::format("{}-c{}-j{}-{:08x}", owner.kind, owner.collection, owner.job,
                     static_cast<std::uint32_t>(owner.made_us));
}

std::optional<ArchiveName> parse_archive_prefix(std::string_view prefix) {
  std::string_view rest = prefix;
  const std::string_view kind = take_part(rest);
  const std::optional<std::int64_t> collection = number_behind(take_part(rest), 'c');
  const std::optional<std::int64_t> job = number_behind(take_part(rest), 'j');
  const bool made = rest.size() == kMadeDigits && is_made_of(rest, kHex);
  if (!is_made_of(kind, kLetters) || !collection || !job || !made) return std::nullopt;
  return ArchiveName{std::string(prefix), *collection, *job};
}

std::optional<ArchiveName> parse_archive_name(std::string_view filename) {
  constexpr std::size_t kBehind = kTimeDigits + kRandomDigits + 2;  // and the dashes
  if (!filename.ends_with(kEnding)) return std::nullopt;
  filename.remove_suffix(kEnding.size());
  if (filename.size() <= kBehind) return std::nullopt;
  std::string_view behind = filename.substr(filename.size() - kBehind);
  const bool dashed = behind[0] == '-' && behind[kTimeDigits + 1] == '-';
  if (!dashed || !is_made_of(behind.substr(1, kTimeDigits), kDigits)) return std::nullopt;
  if (!is_made_of(behind.substr(kTimeDigits + 2), kHex)) return std::nullopt;
  return parse_archive_prefix(filename.substr(0, filename.size() - kBehind));
}

}  // namespace quern::web
