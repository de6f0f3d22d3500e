// Hosts of many ordinary pages.
#pragma once

#include "support/test_site/host.h"

namespace quern::test_site {

// How links are written: in every way that means the same, or as a plain path.
enum class Links { EveryForm, Paths };

// `pages` pages in a tree of depth 5; page N has the word "wordN". A page that is beyond `pages`
// is `gone` (404, or 410).
class PlainHost : public Host {
 public:
  PlainHost(std::string name, std::int64_t pages, Links links)
      : Host(std::move(name)), pages_default_(pages), links_(links) {}

  // The target of a page; found again by number_of(), which is -1 for any other target.
  std::string target_of(std::int64_t page) const;
  std::int64_t number_of(std::string_view target) const;

 protected:
  Answer make(const Ask& ask) override;
  void expect(const std::string& authority, Expected& all) const override;

 private:
  std::int64_t pages() const { return number("pages", pages_default_); }
  std::int64_t branches() const;
  std::string link_to(std::int64_t child, std::string_view from, const Ask& ask) const;

  std::int64_t pages_default_;
  Links links_;
};

// "/" lists the pages named in `set` ("a,b"); it is not to be indexed itself. Those in `unlisted`
// are there without being listed; others are `gone` (404).
class SetHost : public Host {
 public:
  using Host::Host;

 protected:
  Answer make(const Ask& ask) override;
  void expect(const std::string& authority, Expected& all) const override;

 private:
  std::vector<std::string> names() const;
};

// A host whose pages a test writes: the setting "/a" is the HTML of that target, or a status alone
// ("410"). Whatever else is asked for is not there. expected() knows nothing of that.
class WrittenHost : public Host {
 public:
  using Host::Host;

 protected:
  Answer make(const Ask& ask) override;
  void expect(const std::string&, Expected&) const override {}
};

// Where links of other hosts lead: whatever is asked for is there, and a crawl that asks is wrong.
class ElsewhereHost : public Host {
 public:
  using Host::Host;

 protected:
  Answer make(const Ask& ask) override;
  void expect(const std::string&, Expected&) const override {}
};

// `pages` pages in all, "/" and what it links to: one of a thousand small hosts.
class SmallHost : public Host {
 public:
  SmallHost(std::string name, const std::int64_t& pages) : Host(std::move(name)), pages_(pages) {}

 protected:
  Answer make(const Ask& ask) override;
  void expect(const std::string& authority, Expected& all) const override;

 private:
  const std::int64_t& pages_;  // all small hosts have as many
};

}  // namespace quern::test_site
