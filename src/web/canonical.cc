// The identity of a page among the many ways to write its address.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "web/url.h"
#include "web/url_escape.h"

namespace quern::web {
namespace {

// Where a visitor came from, or who they are: the page is the same without.
constexpr std::array<std::string_view, 3> kTrackingPrefixes = {"utm_", "mtm_", "aspsessionid"};
constexpr std::array<std::string_view, 43> kTrackingNames = {
    "__hsfp",     "__hssc",    "__hstc",    "_ga",           "_gl",      "_hsenc",
    "_hsmi",      "_openstat", "cfid",      "cftoken",       "dclid",    "fbclid",
    "gbraid",     "gclid",     "gclsrc",    "hsctatracking", "igsh",     "igshid",
    "jsessionid", "mc_cid",    "mc_eid",    "mkt_tok",       "msclkid",  "oly_anon_id",
    "oly_enc_id", "oscsid",    "phpsessid", "pk_campaign",   "pk_cid",   "pk_content",
    "pk_keyword", "pk_kwd",    "pk_medium", "pk_source",     "srsltid",  "ttclid",
    "twclid",     "vero_conv", "vero_id",   "wbraid",        "wickedid", "yclid",
    "zenid"};
// Names that mean a session only where the value looks like one: a conference has sessions, too.
constexpr std::array<std::string_view, 6> kMaybeSession = {"sid",     "sess",       "sessid",
                                                           "session", "session_id", "sessionid"};
constexpr std::size_t kSessionValueMin = 16;
constexpr std::string_view kPathSession = ";jsessionid=";

bool is_unreserved(unsigned char c) {
  return is_alpha(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

// Escapes in one form. A "%" that begins none is escaped itself: else undoing the next escape could
// make one of it.
std::string with_one_form(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (const auto byte = escape_at(text, i)) {
      if (is_unreserved(*byte)) {
        out += static_cast<char>(*byte);
      } else {
        append_escaped(out, *byte);
      }
      i += 2;
    } else if (std::string_view("%\"<>\\^`{|}").find(text[i]) != std::string_view::npos) {
      append_escaped(out, static_cast<unsigned char>(text[i]));
    } else {
      out += text[i];
    }
  }
  return out;
}

template <class Names>
bool is_among(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool looks_like_session(std::string_view value) {
  const auto is_part = [](char c) { return is_alpha(c) || is_digit(c) || c == '-' || c == ','; };
  return value.size() >= kSessionValueMin && std::all_of(value.begin(), value.end(), is_part) &&
         std::any_of(value.begin(), value.end(), is_digit);
}

bool says_nothing(std::string_view parameter) {
  const std::size_t equals = std::min(parameter.find('='), parameter.size());
  const std::string name = to_lower(parameter.substr(0, equals));
  const std::string_view value = parameter.substr(std::min(equals + 1, parameter.size()));
  for (const std::string_view prefix : kTrackingPrefixes) {
    if (name.starts_with(prefix)) return true;
  }
  if (is_among(kTrackingNames, name)) return true;
  return is_among(kMaybeSession, name) && looks_like_session(value);
}

std::string canonical_query(std::string_view query) {
  const std::string text = with_one_form(query);
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('&', begin), text.size());
    const std::string_view parameter = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (parameter.empty() || says_nothing(parameter)) continue;
    if (!out.empty()) out += '&';
    out += parameter;
  }
  return out;
}

std::string canonical_path(std::string_view path) {
  const std::string text = with_one_form(path);
  const std::string lower = to_lower(text);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t session = std::min(lower.find(kPathSession, at), text.size());
    out.append(text, at, session - at);
    at = session;
    if (at < text.size()) at = std::min(text.find_first_of(";/", at + 1), text.size());
  }
  return out;
}

// Without the dot of a name that is complete: it is the same host.
std::string canonical_host(const std::string& host) {
  if (host.size() < 2 || !host.ends_with('.') || host[host.size() - 2] == '.') return host;
  return host.substr(0, host.size() - 1);
}

}  // namespace

Url canonical_url(const Url& url) {
  if (!url.is_web()) {
    const std::string& href = url.href();
    auto without = Url::parse(std::string_view(href).substr(0, href.find('#')));
    return without ? *std::move(without) : url;
  }
  std::string text = url.scheme() + "://" + canonical_host(url.host());
  if (url.port()) text += fmt::format(":{}", *url.port());
  text += canonical_path(url.path());
  const std::string query = canonical_query(url.query().value_or(""));
  if (!query.empty()) text += "?" + query;
  auto canonical = Url::parse(text);
  return canonical ? *std::move(canonical) : url;
}

}  // namespace quern::web
