#include "support/test_site.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>

#include "net/client.h"
#include "net/loop.h"
#include "net/target.h"

namespace quern::support {
namespace {

constexpr std::size_t kAnswerBytesMax = std::size_t{512} * 1024 * 1024;
constexpr int kComplaintsMax = 20;

std::set<std::string> strings_of(const boost::json::value& array) {
  std::set<std::string> all;
  for (const auto& each : array.as_array()) all.emplace(each.as_string());
  return all;
}

SiteRequest request_of(const boost::json::object& line) {
  const auto text = [&](const char* name) { return std::string(line.at(name).as_string()); };
  SiteRequest request;
  request.number = line.at("n").to_number<std::int64_t>();
  request.began_us = line.at("began_us").to_number<std::int64_t>();
  request.wall_us = line.at("wall_us").to_number<std::int64_t>();
  request.status = line.at("status").to_number<int>();
  if (line.contains("ended_us")) request.ended_us = line.at("ended_us").to_number<std::int64_t>();
  request.host = text("host");
  request.method = text("method");
  request.target = text("target");
  request.user_agent = text("user_agent");
  request.if_none_match = text("if_none_match");
  request.if_modified_since = text("if_modified_since");
  request.accept_encoding = text("accept_encoding");
  return request;
}

net::Task<Result<io::Descriptor>> connect_later(net::Loop* loop, net::Endpoint endpoint) {
  co_return co_await net::connect(*loop, std::move(endpoint), 10'000);
}

}  // namespace

// -- SiteExpected --

std::string SiteExpected::complaint(const std::vector<SiteRequest>& requests) const {
  std::set<std::string> seen;
  std::map<std::string, int> by_prefix;
  std::vector<std::string> wrong;
  for (const SiteRequest& request : requests) {
    const std::string& target = request.target;
    if (!seen.insert(target).second) continue;
    bool allowed = fetched.contains(target) || maybe.contains(target);
    for (const auto& [prefix, most] : prefixes_at_most) {
      if (!target.starts_with(prefix)) continue;
      allowed = true;
      if (++by_prefix[prefix] == most + 1) wrong.push_back("too many of " + prefix);
    }
    if (!allowed) wrong.push_back("fetched: " + target);
  }
  for (const std::string& target : fetched)
    if (!seen.contains(target)) wrong.push_back("not fetched: " + target);
  std::string text;
  for (std::size_t i = 0; i < wrong.size() && i < kComplaintsMax; ++i) text += wrong[i] + "\n";
  if (wrong.size() > kComplaintsMax)
    text += fmt::format("and {} more\n", wrong.size() - kComplaintsMax);
  return text;
}

// -- TestSite --

TestSite::TestSite() {
  auto started =
      Program::start({.program = "quern_test_site", .arguments = {"--log", log_file().string()}});
  CHECK_OK(started);
  program_ = *std::move(started);
  const auto line = program_->wait_for_line(Output::Standard, "listening ");
  CHECK_OK(line);
  port_ = std::atoi(line->substr(line->rfind(':') + 1).c_str());
}

TestSite::~TestSite() {
  stop();
}

void TestSite::stop() {
  program_.reset();
}

net::Endpoint TestSite::endpoint() const {
  return *net::Endpoint::parse(fmt::format("127.0.0.1:{}", port_));
}

net::Response TestSite::fetch(net::Method method, const std::string& authority,
                              const std::string& target, const net::Headers& headers) {
  net::Loop loop;
  const net::Endpoint to = endpoint();
  net::Client client(loop, [&loop, to] { return connect_later(&loop, to); }, authority, {});
  net::Request request;
  request.method = method;
  request.target = target;
  request.headers = headers;
  auto response = loop.run_until(client.fetch(std::move(request), kAnswerBytesMax));
  if (!response) return net::text_response(0, response.error().message());
  return *std::move(response);
}

net::Response TestSite::call(net::Method method, const std::string& target) {
  net::Response response = fetch(method, "control.test", target, {});
  EXPECT_EQ(response.status, 200) << target << ": " << response.body;
  return response;
}

net::Response TestSite::get(const std::string& host, const std::string& target,
                            const net::Headers& headers) {
  return fetch(net::Method::Get, host, target, headers);
}

std::vector<SiteRequest> TestSite::log(std::int64_t since, const std::string& host) {
  const std::string text = call(net::Method::Get, fmt::format("/__log?since={}", since)).body;
  std::vector<SiteRequest> all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    SiteRequest request = request_of(boost::json::parse(text.substr(at, end - at)).as_object());
    if (host.empty() || request.host == host) all.push_back(std::move(request));
    at = end + 1;
  }
  return all;
}

std::optional<std::int64_t> TestSite::shortest_gap_us(const std::string& host) {
  const auto requests = log(0, host);
  std::optional<std::int64_t> shortest;
  for (std::size_t i = 1; i < requests.size(); ++i) {
    const std::int64_t gap = requests[i].began_us - requests[i - 1].began_us;
    shortest = std::min(shortest.value_or(gap), gap);
  }
  return shortest;
}

void TestSite::set(const std::string& host, const std::string& key, const std::string& value) {
  std::string target = "/__set";
  net::append_query(target, "host", host);
  net::append_query(target, "key", key);
  net::append_query(target, "value", value);
  call(net::Method::Post, target);
}

SiteExpected TestSite::expected(const std::string& host, const std::string& authority) {
  std::string target = "/__expected";
  net::append_query(target, "host", host);
  if (!authority.empty()) net::append_query(target, "authority", authority);
  const auto json = boost::json::parse(call(net::Method::Get, target).body).as_object();
  SiteExpected all;
  all.fetched = strings_of(json.at("fetched"));
  all.documents = strings_of(json.at("documents"));
  all.maybe = strings_of(json.at("maybe"));
  all.never = strings_of(json.at("never"));
  for (const auto& [prefix, most] : json.at("prefixes_at_most").as_object())
    all.prefixes_at_most[prefix] = most.to_number<int>();
  for (const auto& [page, words] : json.at("texts").as_object())
    all.texts[page] = std::string(words.as_string());
  return all;
}

std::vector<std::string> TestSite::hosts() {
  const std::string text = call(net::Method::Get, "/__hosts").body;
  std::vector<std::string> all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    all.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

void TestSite::reset() {
  call(net::Method::Post, "/__reset");
}

}  // namespace quern::support
