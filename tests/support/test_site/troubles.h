// Hosts that answer with redirects and errors, slowly, or only to clients without cookies.
#pragma once

#include "support/test_site/host.h"

namespace quern::test_site {

inline constexpr int kRedirectsMax = 10;  // that a crawl follows in a row

class RedirectHost : public TableHost {
 public:
  explicit RedirectHost(std::string name);

 private:
  void redirect(const std::string& target, int status, const std::string& location);
  void chain(const std::string& prefix, int redirects);
};

// Settings: retry_seconds (5) of /429, heals_after (2) tries of /heals, hang (0): whether "/" links
// to pages that never come.
class ErrorsHost : public TableHost {
 public:
  explicit ErrorsHost(std::string name) : TableHost(std::move(name)) { fill(); }

 protected:
  void settings_changed() override { fill(); }
  std::string robots_text(const Ask&) override { return ""; }  // it has none

 private:
  void fill();
  void add_retries();
  void add_broken();
};

// Twenty pages; each takes slow_ms (500).
class SlowHost : public TableHost {
 public:
  explicit SlowHost(std::string name);

 protected:
  Answer make(const Ask& ask) override;
};

class CookieHost : public TableHost {
 public:
  explicit CookieHost(std::string name);
};

}  // namespace quern::test_site
