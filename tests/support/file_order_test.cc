#include "support/file_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quern::support {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using io::FileCall;
using io::FileOperation;

const FileOperation kWrite{FileCall::Write, "/d/tmp", "", 0, 10};
const FileOperation kSync{FileCall::Fsync, "/d/tmp", "", 0, 0};
const FileOperation kName{FileCall::Rename, "/d/tmp", "/d/a", 0, 0};
const FileOperation kSyncFolder{FileCall::SyncFolder, "/d", "", 0, 0};
const FileOperation kRemove{FileCall::Unlink, "/d/a", "", 0, 0};
const FileOperation kMake{FileCall::MakeFolder, "/d/e", "", 0, 0};

TEST(FileOrderTest, RightOrderHasNoViolation) {
  EXPECT_THAT(order_violations({kWrite, kWrite, kSync, kName, kSyncFolder}), IsEmpty());
  EXPECT_THAT(order_violations({kRemove, kSyncFolder, kMake, kSyncFolder}), IsEmpty());
}

TEST(FileOrderTest, EveryMissingSyncIsNamed) {
  EXPECT_THAT(order_violations({kWrite, kName, kSyncFolder}),
              ElementsAre("/d/a is named unsynced"));
  EXPECT_THAT(order_violations({kWrite, kSync, kWrite, kName, kSyncFolder}),
              ElementsAre("/d/a is named unsynced"));
  EXPECT_THAT(order_violations({kWrite, kSync, kName}), ElementsAre(HasSubstr("not synced")));
  EXPECT_THAT(order_violations({kSyncFolder, kRemove}), ElementsAre(HasSubstr("not synced")));
  EXPECT_THAT(order_violations({kMake}), ElementsAre(HasSubstr("not synced")));
}

TEST(FileOrderTest, WritingUnderTheNameIsAViolation) {
  const FileOperation late{FileCall::Write, "/d/a", "", 0, 1};
  EXPECT_THAT(order_violations({kWrite, kSync, kName, kSyncFolder, late}),
              ElementsAre(HasSubstr("written under its name")));
}

}  // namespace
}  // namespace quern::support
