#include "support/test_site/request_log.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <chrono>

#include "base/check.h"

namespace quern::test_site {
namespace {

std::string line_of(std::size_t number, const LoggedRequest& request) {
  boost::json::object line;
  line["n"] = number;
  line["began_us"] = request.began_us;
  line["wall_us"] = request.wall_us;
  line["host"] = request.host;
  line["method"] = request.method;
  line["target"] = request.target;
  line["status"] = request.status;
  line["user_agent"] = request.user_agent;
  line["if_none_match"] = request.if_none_match;
  line["if_modified_since"] = request.if_modified_since;
  line["accept_encoding"] = request.accept_encoding;
  if (request.ended_us != 0) line["ended_us"] = request.ended_us;
  return boost::json::serialize(line) + "\n";
}

}  // namespace

std::int64_t monotonic_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

RequestLog::RequestLog(const std::string& file, bool keep) : keep_(keep) {
  if (file.empty()) return;
  file_ = std::fopen(file.c_str(), "ae");
  CHECK(file_ != nullptr);
}

RequestLog::~RequestLog() {
  if (file_ != nullptr) std::fclose(file_);
}

void RequestLog::put(const std::string& line) {
  if (file_ == nullptr) return;
  CHECK(std::fwrite(line.data(), 1, line.size(), file_) == line.size());
  CHECK(std::fflush(file_) == 0);
}

std::size_t RequestLog::begin(LoggedRequest request) {
  request.began_us = monotonic_us();
  request.wall_us = std::chrono::duration_cast<std::chrono::microseconds>(
                        std::chrono::system_clock::now().time_since_epoch())
                        .count();
  const std::size_t number = requests_.size();
  if (file_ != nullptr) put(line_of(number, request));
  if (keep_) requests_.push_back(std::move(request));
  return number;
}

void RequestLog::end(std::size_t number) {
  const std::int64_t now = monotonic_us();
  if (number < requests_.size()) requests_[number].ended_us = now;
  if (file_ != nullptr) put(fmt::format("{{\"n\":{},\"ended_us\":{}}}\n", number, now));
}

std::string RequestLog::lines_since(std::size_t number) const {
  std::string lines;
  for (std::size_t i = number; i < requests_.size(); ++i) lines += line_of(i, requests_[i]);
  return lines;
}

}  // namespace quern::test_site
