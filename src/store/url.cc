#include "store/url.h"

#include <fmt/format.h>

namespace quern::store {
namespace {

constexpr std::string_view kSqlite = "sqlite:";
constexpr std::string_view kSecret = "password=";

// The part between "//" and the next "/": user:password@host.
std::string without_authority_password(std::string url) {
  const std::size_t begin = url.find("://") + 3;
  const std::size_t end = std::min(url.find_first_of("/?", begin), url.size());
  const std::size_t at = url.rfind('@', end);
  const std::size_t colon = url.find(':', begin);
  if (at == std::string::npos || at < begin || colon == std::string::npos || colon > at) return url;
  return url.replace(colon + 1, at - colon - 1, "***");
}

}  // namespace

Result<DatabaseUrl> DatabaseUrl::parse(std::string_view text) {
  if (text.starts_with(kSqlite)) {
    const std::string_view path = text.substr(kSqlite.size());
    const bool special = path.starts_with(':') || path.starts_with("file:");
    if (path.empty() || special || path.find('\0') != std::string_view::npos) {
      return Error{Errc::Invalid, fmt::format("database '{}': sqlite: needs a file's path", text)};
    }
    return DatabaseUrl{StoreKind::Sqlite, std::string(path)};
  }
  if (text.starts_with("postgres://") || text.starts_with("postgresql://")) {
    return DatabaseUrl{StoreKind::Postgres, std::string(text)};
  }
  return Error{
      Errc::Invalid,
      fmt::format("database '{}': expected sqlite:PATH or postgres://USER@HOST/NAME", text)};
}

std::string DatabaseUrl::redacted() const {
  if (kind == StoreKind::Sqlite) return std::string(kSqlite) + location;
  std::string shown = without_authority_password(location);
  const std::size_t secret = shown.find(kSecret);
  if (secret != std::string::npos) {
    const std::size_t begin = secret + kSecret.size();
    const std::size_t end = std::min(shown.find('&', begin), shown.size());
    shown.replace(begin, end - begin, "***");
  }
  return shown;
}

}  // namespace quern::store
