// TestSite: the program quern_test_site, for the time of a test.
//
// A crawler under test is pointed at it with QUERN_CONNECT_TO="*=127.0.0.1:PORT" (connect_to());
// a client that cannot be, asks for http://127.0.0.1:PORT/ and gets plain.test. What each host is
// and which settings it has stands in tests/support/test_site.
//
// Failures of the control calls fail the test. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "net/endpoint.h"
#include "net/http.h"
#include "support/program.h"
#include "support/temp_folder.h"

namespace quern::support {

struct SiteRequest {
  std::int64_t number = 0;
  std::int64_t began_us = 0;  // of the monotonic clock
  std::int64_t ended_us = 0;  // 0: it never did
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

// See support/test_site/host.h.
struct SiteExpected {
  std::set<std::string> fetched;
  std::set<std::string> documents;
  std::set<std::string> maybe;
  std::set<std::string> never;
  std::map<std::string, int> prefixes_at_most;
  std::map<std::string, std::string> texts;

  // What is wrong with a crawl that fetched these targets (as often as they stand there); empty:
  // nothing is. Retries count once.
  std::string complaint(const std::vector<SiteRequest>& requests) const;
};

class TestSite {
 public:
  TestSite();
  ~TestSite();

  int port() const { return port_; }
  net::Endpoint endpoint() const;
  std::string connect_to() const { return "*=127.0.0.1:" + std::to_string(port_); }
  // With what a program needs to find it.
  Environment environment() const { return {{"QUERN_CONNECT_TO", connect_to()}}; }
  // Of the file that outlives a kill of the site.
  std::filesystem::path log_file() const { return folder_ / "requests.jsonl"; }

  // Since the request of this number; of one host, where it is told.
  std::vector<SiteRequest> log(std::int64_t since = 0, const std::string& host = "");
  // The shortest time between two starts on a host; none where there are fewer than two.
  std::optional<std::int64_t> shortest_gap_us(const std::string& host);
  void set(const std::string& host, const std::string& key, const std::string& value);
  SiteExpected expected(const std::string& host, const std::string& authority = "");
  std::vector<std::string> hosts();
  void reset();
  void stop();

  // One plain request, as a client of that host sends it.
  net::Response get(const std::string& host, const std::string& target,
                    const net::Headers& headers = {});

 private:
  net::Response call(net::Method method, const std::string& target);
  net::Response fetch(net::Method method, const std::string& authority, const std::string& target,
                      const net::Headers& headers);

  TempFolder folder_;
  std::unique_ptr<Program> program_;
  int port_ = 0;
};

}  // namespace quern::support
