// Hosts: all virtual hosts of the test site, by name.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/test_site/host.h"

namespace quern::test_site {

inline constexpr int kSmallHosts = 1000;

class Hosts {
 public:
  // What is asked for by address goes to this one; unknown names under .test to elsewhere.test.
  explicit Hosts(std::string fallback);

  // "plain.test", "PLAIN.test:8080", "127.0.0.1:8080": never nothing.
  Host& at(const std::string& authority);
  // False where there is no such host. "hosts" stands for host0000.test to host0999.test.
  bool set(const std::string& name, const std::string& key, const std::string& value);
  void reset();
  std::vector<std::string> names() const;

 private:
  template <class T, class... Arguments>
  void add(const char* name, Arguments... arguments);

  std::map<std::string, std::unique_ptr<Host>, std::less<>> hosts_;
  std::string fallback_;
  std::int64_t small_pages_;
};

}  // namespace quern::test_site
