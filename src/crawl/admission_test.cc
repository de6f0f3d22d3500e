#include "crawl/admission.h"

#include <gtest/gtest.h>

namespace quern::crawl {
namespace {

constexpr Asked kSingle{false, false};
constexpr Asked kSinglePass{false, true};
constexpr Asked kFull{true, false};
constexpr Asked kFullPass{true, true};

// The site has pages; then none of the site is known, so only the site's own time counts.
constexpr Known kUnknown{true, false, true, false};
constexpr Known kDue{true, true, true, true};
constexpr Known kNotDue{true, true, false, false};
constexpr Known kNewSite{false, false, true, true};
constexpr Known kNewSiteNotDue{false, false, true, false};

TEST(AdmissionTest, A10FourWaysToAskTimesWhatIsKnown) {
  for (const Known& known : {kUnknown, kDue, kNotDue, kNewSite, kNewSiteNotDue}) {
    EXPECT_TRUE(is_accepted(kSinglePass, known));
    EXPECT_TRUE(is_accepted(kFullPass, known));
  }
  EXPECT_TRUE(is_accepted(kSingle, kUnknown));
  EXPECT_TRUE(is_accepted(kSingle, kDue));
  EXPECT_FALSE(is_accepted(kSingle, kNotDue));
  EXPECT_TRUE(is_accepted(kSingle, kNewSite));
  EXPECT_FALSE(is_accepted(kSingle, kNewSiteNotDue));
  EXPECT_FALSE(is_accepted(kFull, kUnknown)) << "only the site's own time counts";
  EXPECT_TRUE(is_accepted(kFull, kDue));
  EXPECT_FALSE(is_accepted(kFull, kNotDue));
}

}  // namespace
}  // namespace quern::crawl
