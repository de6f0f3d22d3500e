#include "support/test_site_crawler.h"

#include <zlib.h>

#include <algorithm>
#include <regex>

#include "base/check.h"

namespace quern::support {
namespace {

constexpr int kTriesMax = 4;
constexpr int kDepthMax = 30;
constexpr int kRedirectsMax = 10;
constexpr std::size_t kAddressBytesMax = 2048;

using Words = std::vector<std::string>;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

std::string unescaped(std::string text) {
  return replaced(replaced(std::move(text), "&quot;", "\""), "&amp;", "&");
}

// The first group of every match.
Words all_matches(const std::string& text, const char* pattern) {
  const std::regex regex(pattern, std::regex::icase);
  Words all;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at)
    all.push_back(unescaped((*at)[1].str()));
  return all;
}

std::string joined(const Words& words) {
  std::string all;
  for (const std::string& word : words) all += word + " ";
  return lower(all);
}

bool has(const std::string& text, const char* word) {
  return text.find(word) != std::string::npos;
}

// "/a/./b/../c" is "/a/c".
std::string without_dots(const std::string& path) {
  Words kept;
  std::size_t at = 1;
  for (;;) {
    const std::size_t end = path.find('/', at);
    const std::string segment = path.substr(at, end - at);
    const bool last = end == std::string::npos;
    if (segment == "..") {
      if (!kept.empty()) kept.pop_back();
      if (last) kept.emplace_back();
    } else if (segment != "." || last) {
      kept.push_back(segment == "." ? "" : segment);
    }
    if (last) break;
    at = end + 1;
  }
  std::string out;
  for (const std::string& segment : kept) out += "/" + segment;
  return out.empty() ? "/" : out;
}

// What says only where a visitor comes from, or who they are.
std::string without_visitor(const std::string& target) {
  static const std::regex session(";jsessionid=[0-9A-F]+", std::regex::icase);
  static const std::regex parameter("[?&](utm_[a-z]+|phpsessid)=[^&]*", std::regex::icase);
  std::string out = std::regex_replace(std::regex_replace(target, session, ""), parameter, "");
  const auto query = out.find_first_of("?&");
  if (query != std::string::npos) out[query] = '?';
  return out;
}

std::string gunzipped(const std::string& bytes) {
  z_stream stream{};
  CHECK(::inflateInit2(&stream, 15 + 16) == Z_OK);
  std::string out(1024 * 1024, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  CHECK(::inflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(std::min<std::size_t>(stream.total_out, out.size()));
  ::inflateEnd(&stream);
  return out;
}

std::string header_of(const net::Response& response, const char* name) {
  const std::string* found = response.headers.find(name);
  return found == nullptr ? "" : *found;
}

}  // namespace

void SmallCrawler::read_robots() {
  fetched_.insert("/robots.txt");
  const net::Response response = site_.get(authority_, "/robots.txt");
  if (response.status != 200) return;
  const std::string text = replaced(response.body, "\r", "") + "\n";
  const std::string ours = text.substr(text.find("User-agent: *"));
  for (const std::string& path : all_matches(ours, "\nallow: *(\\S+)"))
    rules_.emplace_back(path, true);
  for (const std::string& path : all_matches(ours, "\ndisallow: *(\\S+)"))
    rules_.emplace_back(path, false);
  for (const std::string& address : all_matches(text, "\nsitemap: *(\\S+)"))
    admit(address, {"/"}, 0);
}

bool SmallCrawler::allowed(const std::string& target) const {
  std::size_t longest = 0;
  bool verdict = true;
  for (const auto& [path, allow] : rules_) {
    if (!target.starts_with(path) || path.size() < longest) continue;
    if (path.size() > longest || allow) verdict = allow;
    longest = path.size();
  }
  return verdict;
}

bool SmallCrawler::is_wanted(const std::string& target) const {
  static const std::regex skipped(
      "\\.(acc|bmp|docx|epub|gif|jpe?g|mov|mp3|ogg|png|psd|raw|stl|svg|tiff?|webp)$",
      std::regex::icase);
  const std::string path = target.substr(0, target.find('?'));
  return allowed(target) && !std::regex_search(path, skipped) && target != "/robots.txt";
}

std::optional<std::string> SmallCrawler::resolve(std::string text, const std::string& base) const {
  text.erase(0, std::min(text.find_first_not_of(" \n\t"), text.size()));
  text.erase(text.find_last_not_of(" \n\t") + 1);
  const bool only_fragment = text.starts_with("#");
  text = text.substr(0, text.find('#'));
  if (only_fragment) return base;
  const std::string lowered = lower(text);
  std::string rest;
  for (const std::string& start :
       {"http://" + authority_ + ":80", "http://" + authority_, "//" + authority_})
    if (rest.empty() && (lowered + "/").starts_with(start + "/"))
      rest = text.substr(start.size()) + (lowered == start ? "/" : "");
  const auto colon = text.find(':');
  if (rest.empty() &&
      (text.starts_with("//") || (colon != std::string::npos && colon < text.find_first_of("/?"))))
    return std::nullopt;
  const std::string base_path = base.substr(0, base.find('?'));
  if (rest.empty()) {
    if (text.empty())
      rest = base;
    else if (text[0] == '/')
      rest = text;
    else if (text[0] == '?')
      rest = base_path + text;
    else
      rest = base_path.substr(0, base_path.rfind('/') + 1) + text;
  }
  const auto query = rest.find('?');
  std::string path = without_dots(rest.substr(0, query));
  // The only letters that the site escapes.
  path = replaced(replaced(path, "%73", "s"), "%70", "p");
  return without_visitor(path + (query == std::string::npos ? "" : rest.substr(query)));
}

void SmallCrawler::admit(const std::string& reference, const Waiting& from, int redirects) {
  const auto target = resolve(reference, from.target);
  if (!target || !is_wanted(*target) || from.depth >= kDepthMax) return;
  if (("http://" + authority_ + *target).size() > kAddressBytesMax) return;
  if (redirects > kRedirectsMax || !admitted_.insert(*target).second) return;
  waiting_.push_back({*target, from.depth + 1, redirects});
}

net::Response SmallCrawler::fetch_patiently(const std::string& target) {
  net::Response response;
  for (int i = 0; i < kTriesMax; ++i) {
    response = site_.get(authority_, target);
    const bool passing = response.status == 0 || response.status == 429 || response.status >= 500;
    if (!passing) break;
  }
  return response;
}

void SmallCrawler::read_xml(const Waiting& waiting, const std::string& text) {
  for (const char* pattern : {"<loc>([^<]*)<", "<link>([^<]*)<", "<link href=\"([^\"]*)\""})
    for (const std::string& link : all_matches(text, pattern)) admit(link, waiting, 0);
}

void SmallCrawler::read_page(const Waiting& waiting, const net::Response& response) {
  const std::string& text = response.body;
  std::string orders =
      joined(all_matches(text, "<meta name=\"(?:robots|quern)\" content=\"([^\"]*)\""));
  const std::string tag = lower(header_of(response, "X-Robots-Tag"));
  if (!has(tag, "otherbot")) orders += tag;
  const bool none = has(orders, "none");
  bool document = !none && !has(orders, "noindex");
  if (!none && !has(orders, "nofollow")) {
    for (const std::string& link : all_matches(text, "<a href=\"([^\"]*)\""))
      admit(link, waiting, 0);
    for (const std::string& link : all_matches(text, "<a rel=\"noopener\" href=\"([^\"]*)\""))
      admit(link, waiting, 0);
    for (const std::string& link :
         all_matches(text, "<link rel=\"alternate\"[^>]*href=\"([^\"]*)\""))
      admit(link, waiting, 0);
  }
  for (const std::string& link : all_matches(text, "<link rel=\"canonical\" href=\"([^\"]*)\"")) {
    const auto canonical = resolve(link, waiting.target);
    if (canonical && *canonical != waiting.target) document = false;
    admit(link, waiting, 0);
  }
  if (document) documents_.insert(waiting.target);
}

void SmallCrawler::visit(const Waiting& waiting) {
  const net::Response response = fetch_patiently(waiting.target);
  fetched_.insert(waiting.target);
  if (response.status >= 300 && response.status < 400) {
    const std::string* location = response.headers.find("Location");
    if (location != nullptr) admit(*location, waiting, waiting.redirects + 1);
    return;
  }
  if (response.status != 200) return;
  const std::string type = header_of(response, "Content-Type");
  if (has(type, "xml")) return read_xml(waiting, response.body);
  if (waiting.target.ends_with(".xml.gz")) return read_xml(waiting, gunzipped(response.body));
  if (has(type, "text/html")) return read_page(waiting, response);
  documents_.insert(waiting.target);
}

void SmallCrawler::run() {
  read_robots();
  admitted_.insert("/");
  waiting_.push_back({"/"});
  while (!waiting_.empty()) {
    const Waiting next = waiting_.front();
    waiting_.pop_front();
    visit(next);
  }
}

}  // namespace quern::support
