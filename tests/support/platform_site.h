// PlatformSite: the program quern_platform_site, for the time of a test. What it plays stands in
// tests/support/platform_site/hosts.h, its datasets and their faults in dataset.h there.
//
// Failures of the control calls fail the test. One thread at a time.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "net/http.h"
#include "support/program.h"

namespace quern::support {

class PlatformSite {
 public:
  PlatformSite();
  ~PlatformSite();

  int port() const { return port_; }
  // "https://zenodo.org" -> "http://127.0.0.1:PORT/zenodo.org", and so on.
  std::map<std::string, std::string> bases();
  // With what a program needs to find it.
  Environment environment();
  // The landing page of a dataset, by the names of hosts.h and dataset.h: ("zenodo", "plain").
  std::string landing(const std::string& platform, const std::string& dataset);
  // name, number, files (path, size, md5, sha1, sha256).
  const boost::json::object& dataset(const std::string& name);
  // host, target, status of each request; and path, status, offset, sent of those for files.
  std::vector<boost::json::object> log();
  std::vector<boost::json::object> file_log();
  // One request, as a client whose bases are set sends it.
  net::Response get(const std::string& url);

 private:
  net::Response fetch(const std::string& target);
  std::vector<boost::json::object> lines(const std::string& target);

  std::unique_ptr<Program> program_;
  int port_ = 0;
  std::map<std::string, boost::json::object> datasets_;
};

}  // namespace quern::support
