// SmallCrawler: follows the test site's pages as simply as can be, to tell whether the sets that
// the site expects are right. It shares no code with src/web: what both get wrong would not show.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/test_site.h"

namespace quern::support {

class SmallCrawler {
 public:
  SmallCrawler(TestSite& site, std::string authority)
      : site_(site), authority_(std::move(authority)) {}

  // From "/" on, until nothing is left.
  void run();
  const std::set<std::string>& fetched() const { return fetched_; }
  const std::set<std::string>& documents() const { return documents_; }

 private:
  struct Waiting {
    std::string target;
    int depth = 0;
    int redirects = 0;
  };

  void read_robots();
  bool allowed(const std::string& target) const;
  bool is_wanted(const std::string& target) const;
  void admit(const std::string& reference, const Waiting& from, int redirects);
  // Nothing where the reference leads off the host, or to no page.
  std::optional<std::string> resolve(std::string reference, const std::string& base) const;
  net::Response fetch_patiently(const std::string& target);
  void visit(const Waiting& waiting);
  void read_page(const Waiting& waiting, const net::Response& response);
  void read_xml(const Waiting& waiting, const std::string& text);

  TestSite& site_;
  std::string authority_;
  std::vector<std::pair<std::string, bool>> rules_;
  std::deque<Waiting> waiting_;
  std::set<std::string> admitted_;
  std::set<std::string> fetched_;
  std::set<std::string> documents_;
};

}  // namespace quern::support
