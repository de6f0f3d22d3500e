// Hosts that say what may be fetched and kept, and where more is.
#pragma once

#include "support/test_site/host.h"

namespace quern::test_site {

// Disallow /p, Allow /p/public, Crawl-delay 2 (crawl_delay), a sitemap with three addresses.
class RobotsHost : public TableHost {
 public:
  explicit RobotsHost(std::string name);

 protected:
  std::string robots_text(const Ask& ask) override;
};

// A sitemap index of two sitemaps, one of them compressed; most pages are reached only so.
class SitemapHost : public TableHost {
 public:
  explicit SitemapHost(std::string name);

 protected:
  std::string robots_text(const Ask& ask) override;
};

// An RSS and an Atom feed, found by link elements of "/".
class FeedHost : public TableHost {
 public:
  explicit FeedHost(std::string name);
};

// noindex and nofollow by meta, by X-Robots-Tag and by rel; canonical links.
class NofollowHost : public TableHost {
 public:
  explicit NofollowHost(std::string name);

 private:
  void add_canonical();
  void add_headers();
};

}  // namespace quern::test_site
