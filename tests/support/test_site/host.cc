#include "support/test_site/host.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

namespace quern::test_site {
namespace {

constexpr std::string_view kHtmlType = "text/html; charset=utf-8";
constexpr std::array<std::string_view, 48> kWords = {
    "river",   "stone",  "letter", "winter",  "copper", "harbor",  "garden",  "window",
    "market",  "bridge", "candle", "forest",  "island", "ladder",  "mirror",  "needle",
    "orchard", "pepper", "quarry", "ribbon",  "saddle", "timber",  "valley",  "wagon",
    "anchor",  "basket", "cellar", "dinner",  "engine", "feather", "granite", "hammer",
    "insect",  "jacket", "kettle", "lantern", "meadow", "number",  "office",  "pencil",
    "quiet",   "rather", "silver", "turnip",  "umber",  "velvet",  "willow",  "yellow"};

std::uint64_t fnv(std::string_view text) {
  std::uint64_t hash = 14'695'981'039'346'656'037U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
  return hash;
}

std::string last_modified(std::int64_t version) {
  // A day for each version, in January 2026, which began on a Thursday.
  constexpr std::array<std::string_view, 7> kDays = {"Thu", "Fri", "Sat", "Sun",
                                                     "Mon", "Tue", "Wed"};
  const std::int64_t day = version % 31;
  return fmt::format("{}, {:02} Jan 2026 08:00:00 GMT", kDays[static_cast<std::size_t>(day % 7)],
                     day + 1);
}

}  // namespace

std::string_view Ask::path() const {
  return std::string_view(target).substr(0, target.find('?'));
}

std::string Ask::parameter(std::string_view name) const {
  std::string_view rest = target;
  rest.remove_prefix(std::min(rest.find('?'), rest.size()));
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view pair = rest.substr(0, rest.find('&'));
    const auto equals = pair.find('=');
    if (pair.substr(0, equals) == name)
      return std::string(equals == pair.npos ? "" : pair.substr(equals + 1));
    rest.remove_prefix(pair.size());
  }
  return "";
}

std::string Ask::absolute(std::string_view rest) const {
  return "http://" + authority + std::string(rest);
}

void Expected::add(const std::string& target, Fate fate) {
  if (fate == Fate::Never) never.insert(target);
  if (fate == Fate::Maybe) maybe.insert(target);
  if (fate == Fate::Document || fate == Fate::Fetched) fetched.insert(target);
  if (fate == Fate::Document) documents.insert(target);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string render(const Html& page) {
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<title>";
  out += escaped(page.title) + "</title>\n" + page.head + "</head>\n<body>\n";
  out += "<header><p>The test site</p></header>\n<main>\n<h1>" + escaped(page.title) + "</h1>\n";
  out += "<p>" + escaped(page.text) + "</p>\n" + page.more + "</main>\n<nav>\n<ul>\n";
  for (const std::string& link : page.links) {
    out += "<li><a href=\"" + escaped(link) + "\">go on</a></li>\n";
  }
  return out + "</ul>\n</nav>\n<footer><p>Made for tests</p></footer>\n</body>\n</html>\n";
}

std::string filler(std::uint64_t number, int words) {
  std::string out;
  std::uint64_t state = number * 2'862'933'555'777'941'757U + 3'037'000'493U;
  for (int i = 0; i < words; ++i) {
    state = state * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
    if (!out.empty()) out += ' ';
    out += kWords[(state >> 33) % kWords.size()];
  }
  return out;
}

Answer html_answer(const Html& page) {
  return typed_answer(std::string(kHtmlType), render(page));
}

Answer typed_answer(std::string content_type, std::string body) {
  Answer answer;
  if (!content_type.empty()) answer.headers.set("Content-Type", content_type);
  answer.body = std::move(body);
  return answer;
}

Answer status_answer(int status) {
  Answer answer = html_answer({.title = fmt::format("Error {}", status),
                               .text = fmt::format("errortext{} is never to be found", status)});
  answer.status = status;
  answer.validators = false;
  return answer;
}

Answer redirect_answer(int status, std::string_view location) {
  Answer answer = status_answer(status);
  answer.headers.set("Location", location);
  return answer;
}

// -- Host --

Answer Host::answer(const Ask& ask) {
  const std::string target = ask.target;
  const bool is_robots = target == "/robots.txt";
  Answer answer;
  if (is_robots) {
    answer = robots(ask);
  } else if (tries(target) < number("storm", 0)) {
    answer = status_answer(static_cast<int>(number("storm_status", 500)));
    const std::string after = text("retry_after", "");
    if (!after.empty()) answer.headers.set("Retry-After", after);
  } else {
    answer = make(ask);
  }
  ++tries_[target];
  answer.delay_ms += number("delay_ms", 0);
  if (answer.status == 200 && answer.validators && answer.manner != Manner::Hung)
    add_validators(ask, answer);
  return answer;
}

void Host::add_validators(const Ask& ask, Answer& answer) const {
  const std::int64_t version = number("version", 1);
  const std::string etag = fmt::format("\"v{}-{:016x}\"", version, fnv(answer.body));
  const std::string modified = last_modified(version);
  answer.headers.set("ETag", etag);
  answer.headers.set("Last-Modified", modified);
  const std::string* match = ask.headers.find("If-None-Match");
  const std::string* since = ask.headers.find("If-Modified-Since");
  // RFC 9110: the date counts only where there is no tag.
  const bool same = match != nullptr ? *match == etag : since != nullptr && *since == modified;
  if (!same) return;
  answer.status = 304;
  answer.body.clear();
  answer.tail.clear();
  answer.pieces = 0;
  answer.manner = Manner::Whole;
}

Expected Host::expected(const std::string& authority) const {
  Expected all;
  all.add("/robots.txt", Fate::Fetched);
  // Many crawlers look there without being told; so may this one.
  all.add("/sitemap.xml", Fate::Maybe);
  if (number("robots_status", 200) >= 500) return all;
  expect(authority, all);
  for (const std::string& target : all.fetched) all.maybe.erase(target);
  return all;
}

Answer Host::robots(const Ask& ask) {
  const auto status = static_cast<int>(number("robots_status", 200));
  const std::string location = text("robots_location", "");
  if (status != 200)
    return location.empty() ? status_answer(status) : redirect_answer(status, location);
  const std::string body = text("robots_text", robots_text(ask));
  return body.empty() ? status_answer(404) : typed_answer("text/plain", body);
}

std::string Host::robots_text(const Ask&) {
  const std::string delay = text("crawl_delay", "");
  return "User-agent: *\nAllow: /\n" + (delay.empty() ? "" : "Crawl-delay: " + delay + "\n");
}

void Host::set(const std::string& key, const std::string& value) {
  settings_[key] = value;
  settings_changed();
}

void Host::reset() {
  settings_.clear();
  tries_.clear();
  settings_changed();
}

std::int64_t Host::number(const std::string& key, std::int64_t otherwise) const {
  const auto found = settings_.find(key);
  return found == settings_.end() ? otherwise : std::atoll(found->second.c_str());
}

std::string Host::text(const std::string& key, const std::string& otherwise) const {
  const auto found = settings_.find(key);
  return found == settings_.end() ? otherwise : found->second;
}

int Host::tries(const std::string& target) const {
  const auto found = tries_.find(target);
  return found == tries_.end() ? 0 : found->second;
}

// -- TableHost --

void TableHost::add(const std::string& target, Fate fate, Make make) {
  entries_[target] = {fate, std::move(make)};
}

void TableHost::page(const std::string& target, Fate fate, Html html) {
  add(target, fate, [html = std::move(html)](const Ask&) { return html_answer(html); });
}

void TableHost::leaf(const std::string& target, Fate fate, const std::string& words) {
  page(target, fate, {.title = "Page " + target, .text = words});
}

void TableHost::never(const std::string& target) {
  leaf(target, Fate::Never, "nobody should have asked for this");
}

Answer TableHost::make(const Ask& ask) {
  const auto found = entries_.find(ask.target);
  return found == entries_.end() ? other(ask) : found->second.make(ask);
}

Answer TableHost::other(const Ask&) {
  return status_answer(404);
}

void TableHost::expect(const std::string&, Expected& all) const {
  for (const auto& [target, entry] : entries_) all.add(target, entry.fate);
}

std::vector<std::string> TableHost::targets() const {
  std::vector<std::string> all;
  for (const auto& [target, entry] : entries_)
    if (target != "/") all.push_back(target);
  return all;
}

}  // namespace quern::test_site
