// RequestLog: who asked for what and when, one JSON line for each request, in memory and in a file.
//
// Guarantee: the line is in the file (in the kernel's hands) before the answer's first byte leaves,
// so that a test that kills a client misses nothing. When an answer ends, a line {"n":N,
// "ended_us":…} follows in the file.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "support/test_site/host.h"

namespace quern::test_site {

struct LoggedRequest {
  std::int64_t began_us = 0;  // monotonic
  std::int64_t ended_us = 0;  // 0: not yet
  std::int64_t wall_us = 0;
  int status = 0;  // 0: none was sent
  std::string host;
  std::string method;
  std::string target;
  std::string user_agent;
  std::string if_none_match;
  std::string if_modified_since;
  std::string accept_encoding;
};

class RequestLog {
 public:
  // Empty: no file. With keep off, memory holds nothing either: for benchmarks.
  RequestLog(const std::string& file, bool keep);
  ~RequestLog();
  RequestLog(const RequestLog&) = delete;
  RequestLog& operator=(const RequestLog&) = delete;

  std::size_t begin(LoggedRequest request);
  void end(std::size_t number);
  // JSON lines of the requests from that number on, with "n".
  std::string lines_since(std::size_t number) const;
  void clear() { requests_.clear(); }

 private:
  void put(const std::string& line);

  std::FILE* file_ = nullptr;
  bool keep_;
  std::vector<LoggedRequest> requests_;
};

std::int64_t monotonic_us();

}  // namespace quern::test_site
