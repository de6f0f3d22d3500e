#include "web/url_parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "web/url_escape.h"
#include "web/url_host.h"

namespace quern::web {
namespace {

constexpr int kEnd = -1;

// Without control characters and spaces at the ends, and without tabs and line ends anywhere.
std::string cleaned(std::string_view text) {
  const auto is_blank = [](char c) { return static_cast<unsigned char>(c) <= 0x20; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  std::string out = valid_utf8(text);
  std::erase_if(out, [](char c) { return c == '\t' || c == '\n' || c == '\r'; });
  return out;
}

bool is_drive_letter(std::string_view text) {
  return text.size() == 2 && is_alpha(text[0]) && (text[1] == ':' || text[1] == '|');
}

bool is_normal_drive_letter(std::string_view text) {
  return is_drive_letter(text) && text[1] == ':';
}

bool starts_with_drive_letter(std::string_view text) {
  if (text.size() < 2 || !is_drive_letter(text.substr(0, 2))) return false;
  return text.size() == 2 || std::string_view("/\\?#").find(text[2]) != std::string_view::npos;
}

// "." or "%2e", so many of them.
bool is_dots(std::string_view segment, int dots) {
  for (; dots > 0; --dots) {
    if (segment.starts_with('.')) {
      segment.remove_prefix(1);
    } else if (escape_at(segment, 0) == '.') {
      segment.remove_prefix(3);
    } else {
      return false;
    }
  }
  return segment.empty();
}

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> segments;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t slash = std::min(path.find('/'), path.size());
    segments.emplace_back(path.substr(0, slash));
    path.remove_prefix(slash);
  }
  return segments;
}

}  // namespace

bool is_special_scheme(std::string_view scheme) {
  return scheme == "file" || default_port(scheme) != 0;
}

std::uint16_t default_port(std::string_view scheme) {
  if (scheme == "http" || scheme == "ws") return 80;
  if (scheme == "https" || scheme == "wss") return 443;
  if (scheme == "ftp") return 21;
  return 0;
}

UrlParser::UrlParser(std::string_view text, const Url* base) : text_(cleaned(text)), base_(base) {}

Result<Url> UrlParser::run() {
  const auto size = static_cast<std::ptrdiff_t>(text_.size());
  for (at_ = 0; at_ <= size; ++at_) {
    const int c = at_ == size ? kEnd : static_cast<unsigned char>(text_[at_]);
    if (!step(c)) return Error{Errc::Invalid, "this is no address of the web"};
  }
  serialize();
  return std::move(url_);
}

bool UrlParser::step(int c) {
  switch (state_) {
    case State::SchemeStart:
      return in_scheme_start(c);
    case State::Scheme:
      return in_scheme(c);
    case State::NoScheme:
      return in_no_scheme(c);
    case State::SpecialRelativeOrAuthority:
      return in_special_relative_or_authority(c);
    case State::PathOrAuthority:
      return in_path_or_authority(c);
    case State::Relative:
      return in_relative(c);
    case State::RelativeSlash:
      return in_relative_slash(c);
    case State::SpecialAuthoritySlashes:
      return in_special_authority_slashes(c);
    case State::SpecialAuthorityIgnoreSlashes:
      return in_special_authority_ignore_slashes(c);
    case State::Authority:
      return in_authority(c);
    case State::Host:
      return in_host(c);
    case State::Port:
      return in_port(c);
    case State::File:
      return in_file(c);
    case State::FileSlash:
      return in_file_slash(c);
    case State::FileHost:
      return in_file_host(c);
    case State::PathStart:
      return in_path_start(c);
    case State::Path:
      return in_path(c);
    case State::OpaquePath:
      return in_opaque_path(c);
    case State::Query:
      return in_query(c);
    case State::Fragment:
      return in_fragment(c);
  }
  return false;
}

std::string_view UrlParser::rest() const {
  return std::string_view(text_).substr(std::min(static_cast<std::size_t>(at_), text_.size()));
}

void UrlParser::set_scheme(std::string scheme) {
  url_.scheme_ = std::move(scheme);
  special_ = is_special_scheme(url_.scheme_);
}

void UrlParser::copy_authority() {
  url_.username_ = base_->username_;
  url_.password_ = base_->password_;
  url_.host_ = base_->host_;
  url_.has_host_ = base_->has_host_;
  url_.port_ = base_->port_;
}

void UrlParser::copy_path() {
  segments_ = split_path(base_->path_);
  url_.query_ = base_->query_;
}

void UrlParser::shorten_path() {
  if (segments_.empty()) return;
  if (url_.scheme_ == "file" && segments_.size() == 1 && is_normal_drive_letter(segments_[0])) {
    return;
  }
  segments_.pop_back();
}

bool UrlParser::begin_query() {
  url_.query_.emplace();
  return go(State::Query);
}

bool UrlParser::begin_fragment() {
  url_.fragment_.emplace();
  return go(State::Fragment);
}

bool UrlParser::in_scheme_start(int c) {
  if (!is_alpha(c)) return go_back(State::NoScheme);
  buffer_ += to_lower(static_cast<char>(c));
  return go(State::Scheme);
}

bool UrlParser::in_scheme(int c) {
  if (is_alpha(c) || is_digit(c) || c == '+' || c == '-' || c == '.') {
    buffer_ += to_lower(static_cast<char>(c));
    return true;
  }
  if (c == ':') return end_scheme();
  buffer_.clear();
  at_ = -1;  // from the beginning
  return go(State::NoScheme);
}

bool UrlParser::end_scheme() {
  set_scheme(std::exchange(buffer_, {}));
  if (url_.scheme_ == "file") return go(State::File);
  if (special_ && base_ && base_->scheme_ == url_.scheme_) {
    return go(State::SpecialRelativeOrAuthority);
  }
  if (special_) return go(State::SpecialAuthoritySlashes);
  if (rest().substr(1).starts_with('/')) {
    ++at_;
    return go(State::PathOrAuthority);
  }
  url_.opaque_path_ = true;
  return go(State::OpaquePath);
}

bool UrlParser::in_no_scheme(int c) {
  if (!base_ || (base_->opaque_path_ && c != '#')) return false;
  if (base_->opaque_path_) {
    set_scheme(base_->scheme_);
    url_.path_ = base_->path_;
    url_.opaque_path_ = true;
    url_.query_ = base_->query_;
    return begin_fragment();
  }
  return go_back(base_->scheme_ == "file" ? State::File : State::Relative);
}

bool UrlParser::in_special_relative_or_authority(int c) {
  if (c == '/' && rest().substr(1).starts_with('/')) {
    ++at_;
    return go(State::SpecialAuthorityIgnoreSlashes);
  }
  return go_back(State::Relative);
}

bool UrlParser::in_path_or_authority(int c) {
  if (c == '/') return go(State::Authority);
  return go_back(State::Path);
}

bool UrlParser::in_relative(int c) {
  set_scheme(base_->scheme_);
  if (is_slash(c)) return go(State::RelativeSlash);
  copy_authority();
  copy_path();
  if (c == '?') return begin_query();
  if (c == '#') return begin_fragment();
  if (c == kEnd) return true;
  url_.query_.reset();
  shorten_path();
  return go_back(State::Path);
}

bool UrlParser::in_relative_slash(int c) {
  if (special_ && is_slash(c)) return go(State::SpecialAuthorityIgnoreSlashes);
  if (c == '/') return go(State::Authority);
  copy_authority();
  return go_back(State::Path);
}

bool UrlParser::in_special_authority_slashes(int c) {
  if (c == '/' && rest().substr(1).starts_with('/')) {
    ++at_;
    return go(State::SpecialAuthorityIgnoreSlashes);
  }
  return go_back(State::SpecialAuthorityIgnoreSlashes);
}

bool UrlParser::in_special_authority_ignore_slashes(int c) {
  if (c == '/' || c == '\\') return true;
  return go_back(State::Authority);
}

bool UrlParser::ends_authority(int c) const {
  return c == kEnd || c == '?' || c == '#' || is_slash(c);
}

bool UrlParser::in_authority(int c) {
  if (c == '@') {
    take_credentials();
    return true;
  }
  if (!ends_authority(c)) {
    buffer_ += static_cast<char>(c);
    return true;
  }
  if (at_sign_seen_ && buffer_.empty()) return false;
  at_ -= static_cast<std::ptrdiff_t>(buffer_.size()) + 1;
  buffer_.clear();
  return go(State::Host);
}

void UrlParser::take_credentials() {
  if (at_sign_seen_) buffer_.insert(0, "%40");
  at_sign_seen_ = true;
  for (const char c : buffer_) {
    if (c == ':' && !password_seen_) {
      password_seen_ = true;
      continue;
    }
    append_escaped(password_seen_ ? url_.password_ : url_.username_, {&c, 1}, EscapeSet::Userinfo);
  }
  buffer_.clear();
}

bool UrlParser::take_host() {
  auto host = parse_host(buffer_, special_ ? HostKind::Special : HostKind::Opaque);
  if (!host) return false;
  url_.host_ = *std::move(host);
  url_.has_host_ = true;
  buffer_.clear();
  return true;
}

bool UrlParser::in_host(int c) {
  if (c == ':' && !in_brackets_) {
    if (buffer_.empty() || !take_host()) return false;
    return go(State::Port);
  }
  if (ends_authority(c)) {
    if ((special_ && buffer_.empty()) || !take_host()) return false;
    return go_back(State::PathStart);
  }
  if (c == '[') in_brackets_ = true;
  if (c == ']') in_brackets_ = false;
  buffer_ += static_cast<char>(c);
  return true;
}

bool UrlParser::in_port(int c) {
  if (is_digit(c)) {
    buffer_ += static_cast<char>(c);
    return true;
  }
  if (!ends_authority(c)) return false;
  if (!buffer_.empty()) {
    std::uint32_t port = 0;
    for (const char digit : buffer_) {
      port = port * 10 + static_cast<std::uint32_t>(digit - '0');
      if (port > 65535) return false;
    }
    if (port != default_port(url_.scheme_) || port == 0) {
      url_.port_ = static_cast<std::uint16_t>(port);
    }
    buffer_.clear();
  }
  return go_back(State::PathStart);
}

bool UrlParser::in_file(int c) {
  set_scheme("file");
  url_.host_.clear();
  url_.has_host_ = true;
  if (is_slash(c)) return go(State::FileSlash);
  if (!base_ || base_->scheme_ != "file") return go_back(State::Path);
  url_.host_ = base_->host_;
  copy_path();
  if (c == '?') return begin_query();
  if (c == '#') return begin_fragment();
  if (c == kEnd) return true;
  url_.query_.reset();
  if (starts_with_drive_letter(rest())) {
    segments_.clear();
  } else {
    shorten_path();
  }
  return go_back(State::Path);
}

bool UrlParser::in_file_slash(int c) {
  if (is_slash(c)) return go(State::FileHost);
  if (base_ && base_->scheme_ == "file") {
    url_.host_ = base_->host_;
    const auto base_path = split_path(base_->path_);
    if (!starts_with_drive_letter(rest()) && !base_path.empty() &&
        is_normal_drive_letter(base_path[0])) {
      segments_.push_back(base_path[0]);
    }
  }
  return go_back(State::Path);
}

bool UrlParser::in_file_host(int c) {
  if (!ends_authority(c)) {
    buffer_ += static_cast<char>(c);
    return true;
  }
  if (is_drive_letter(buffer_)) return go_back(State::Path);  // it begins the path
  if (!buffer_.empty()) {
    if (!take_host()) return false;
    if (url_.host_ == "localhost") url_.host_.clear();
  }
  return go_back(State::PathStart);
}

bool UrlParser::in_path_start(int c) {
  if (special_) return is_slash(c) ? go(State::Path) : go_back(State::Path);
  if (c == '?') return begin_query();
  if (c == '#') return begin_fragment();
  if (c == kEnd) return true;
  return c == '/' ? go(State::Path) : go_back(State::Path);
}

bool UrlParser::in_path(int c) {
  if (c != kEnd && c != '?' && c != '#' && !is_slash(c)) {
    const char byte = static_cast<char>(c);
    append_escaped(buffer_, {&byte, 1}, EscapeSet::Path);
    return true;
  }
  end_segment(c);
  if (c == '?') return begin_query();
  if (c == '#') return begin_fragment();
  return true;
}

void UrlParser::end_segment(int c) {
  if (is_dots(buffer_, 2)) {
    shorten_path();
    if (!is_slash(c)) segments_.emplace_back();
  } else if (is_dots(buffer_, 1)) {
    if (!is_slash(c)) segments_.emplace_back();
  } else {
    if (url_.scheme_ == "file" && segments_.empty() && is_drive_letter(buffer_)) buffer_[1] = ':';
    segments_.push_back(buffer_);
  }
  buffer_.clear();
}

bool UrlParser::in_opaque_path(int c) {
  if (c == '?') return begin_query();
  if (c == '#') return begin_fragment();
  if (c == kEnd) return true;
  const std::string_view next = rest().substr(1);
  if (c == ' ' && (next.starts_with('?') || next.starts_with('#'))) {
    append_escaped(url_.path_, ' ');  // it would be lost at the end of a path that is set later
    return true;
  }
  const char byte = static_cast<char>(c);
  append_escaped(url_.path_, {&byte, 1}, EscapeSet::Control);
  return true;
}

bool UrlParser::in_query(int c) {
  if (c == '#') return begin_fragment();
  if (c == kEnd) return true;
  const char byte = static_cast<char>(c);
  append_escaped(*url_.query_, {&byte, 1}, special_ ? EscapeSet::SpecialQuery : EscapeSet::Query);
  return true;
}

bool UrlParser::in_fragment(int c) {
  if (c == kEnd) return true;
  const char byte = static_cast<char>(c);
  append_escaped(*url_.fragment_, {&byte, 1}, EscapeSet::Fragment);
  return true;
}

void UrlParser::serialize() {
  if (!url_.opaque_path_) {
    url_.path_.clear();
    for (const std::string& segment : segments_) url_.path_.append("/").append(segment);
  }
  std::string& href = url_.href_;
  href = url_.scheme_ + ":";
  if (url_.has_host_) {
    href += "//" + url_.username_;
    if (!url_.password_.empty()) href += ":" + url_.password_;
    if (!url_.username_.empty() || !url_.password_.empty()) href += "@";
    href += url_.host_;
    if (url_.port_) href += fmt::format(":{}", *url_.port_);
  } else if (!url_.opaque_path_ && segments_.size() > 1 && segments_[0].empty()) {
    href += "/.";  // else "//" would begin a host
  }
  href += url_.path_;
  if (url_.query_) href += "?" + *url_.query_;
  if (url_.fragment_) href += "#" + *url_.fragment_;
}

}  // namespace quern::web
