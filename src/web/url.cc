#include "web/url.h"

#include <fmt/format.h>

#include "web/url_parser.h"

namespace quern::web {

Result<Url> Url::parse(std::string_view text) {
  return UrlParser(text, nullptr).run();
}

Result<Url> Url::parse(std::string_view text, const Url& base) {
  return UrlParser(text, &base).run();
}

std::uint16_t Url::effective_port() const {
  return port_.value_or(default_port(scheme_));
}

std::string Url::target() const {
  return query_ ? path_ + "?" + *query_ : path_;
}

std::string Url::origin() const {
  if (scheme_ == "blob") {
    const auto inner = parse(path_);
    return inner && inner->is_web() ? inner->origin() : "null";
  }
  if (default_port(scheme_) == 0) return "null";
  return port_ ? fmt::format("{}://{}:{}", scheme_, host_, *port_) : scheme_ + "://" + host_;
}

std::string site_of(const Url& url) {
  return url.port() ? fmt::format("{}:{}", url.host(), *url.port()) : url.host();
}

}  // namespace quern::web
