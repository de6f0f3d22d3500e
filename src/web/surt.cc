// The key under which web archives sort an address.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "web/url.h"
#include "web/url_escape.h"
#include "web/url_host.h"

namespace quern::web {
namespace {

// "www." and "www2.", unless nothing would be left.
std::string_view without_www(std::string_view host) {
  if (!host.starts_with("www")) return host;
  std::size_t at = 3;
  while (at < host.size() && is_digit(host[at])) ++at;
  if (at + 1 >= host.size() || host[at] != '.') return host;
  return host.substr(at + 1);
}

std::string turned_around(std::string_view host) {
  std::string out;
  while (!host.empty()) {
    const std::size_t dot = host.rfind('.');
    const std::size_t begin = dot == std::string_view::npos ? 0 : dot + 1;
    if (!out.empty()) out += ',';
    out += host.substr(begin);
    host = host.substr(0, dot == std::string_view::npos ? 0 : dot);
  }
  return out;
}

// Parameters in order of their bytes: archives find a page whichever order a link has.
std::string sorted_query(std::string_view query) {
  std::vector<std::string_view> parameters;
  for (std::size_t begin = 0; begin <= query.size();) {
    const std::size_t end = std::min(query.find('&', begin), query.size());
    parameters.push_back(query.substr(begin, end - begin));
    begin = end + 1;
  }
  std::sort(parameters.begin(), parameters.end());
  return fmt::format("{}", fmt::join(parameters, "&"));
}

}  // namespace

std::string surt(const Url& url) {
  if (!url.is_web()) return url.href();
  std::string_view host = url.host();
  if (host.size() > 1 && host.ends_with('.')) host.remove_suffix(1);
  std::string out = is_address(host) ? std::string(host) : turned_around(without_www(host));
  if (url.port()) out += fmt::format(":{}", *url.port());
  out += ")" + to_lower(url.path());
  if (url.query() && !url.query()->empty()) out += "?" + sorted_query(to_lower(*url.query()));
  return out;
}

}  // namespace quern::web
