// A host without an end, in all the ways that catch crawlers.
#pragma once

#include "support/test_site/host.h"

namespace quern::test_site {

// How many pages of each trap a crawl may see before it knows. Of a calendar it may well take all
// the months of some decades.
inline constexpr int kTrapPagesMax = 500;

//   /calendar?month=&year=    each month links to the next and the one before
//   /loop/a/b/a/b/…           the same relative link on every page
//   /deep/n1/n2/…             a new one on every page
//   /shop/N                   five pages; each answer writes another session id into its links
//   /many/N                   `many` (5,000) pages on one list
// and addresses longer than any crawl takes.
class TrapHost : public Host {
 public:
  using Host::Host;

 protected:
  Answer make(const Ask& ask) override;
  void expect(const std::string& authority, Expected& all) const override;

 private:
  Answer calendar(const Ask& ask) const;
  Answer endless(const Ask& ask) const;
  Answer shop(const Ask& ask);
  Answer many(const Ask& ask) const;
  std::int64_t many_pages() const { return number("many", 5'000); }

  std::uint64_t sessions_ = 0;
};

}  // namespace quern::test_site
