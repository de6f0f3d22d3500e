// The Mbox step: where a mail begins, and that nothing of it is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/step_children.h"
#include "worker/steps.h"

namespace quern::worker {
namespace {

using model::ErrorKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kFrom = "From ann@example.org Tue Jul  1 10:52:37 2003\n";

StepRun read_box(const std::string& bytes, const Limits& limits = {}) {
  static const bool warmed = (mbox_step().warm(), true);
  EXPECT_TRUE(warmed);
  return run_step(mbox_step(), "a.mbox", bytes, limits);
}

std::vector<std::string> mails_of(const std::string& bytes) {
  const StepRun run = read_box(bytes);
  EXPECT_FALSE(run.end.has_value()) << run.end->message;
  std::vector<std::string> mails;
  for (const MadeChild& child : made_children(run)) mails.push_back(child.blob);
  return mails;
}

TEST(MboxTest, EachMailIsAChildNamedByItsSubject) {
  const StepRun run = read_box(kFrom + "Subject: one\n\nfirst\n\n" + kFrom +
                               "To: x\nSUBJECT: =?UTF-8?Q?Gr=C3=B6=C3=9Fe?=\n a/b\n\nsecond\n");
  const auto children = made_children(run);
  EXPECT_THAT(names_of(children),
              ElementsAre("a.mbox/000001 one.eml", "a.mbox/000002 Größe a-b.eml"));
  EXPECT_EQ(children[0].type, "message/rfc822");
  EXPECT_EQ(children[0].blob, "Subject: one\n\nfirst\n");
  EXPECT_EQ(children[1].blob, "To: x\nSUBJECT: =?UTF-8?Q?Gr=C3=B6=C3=9Fe?=\n a/b\n\nsecond\n");
}

TEST(MboxTest, LinesThatOnlyLookLikeABeginningAreText) {
  EXPECT_THAT(mails_of(kFrom + "Subject: s\n\nFrom here on\n\nFrom then, at 10:30, it is fine\n"),
              ElementsAre("Subject: s\n\nFrom here on\n\nFrom then, at 10:30, it is fine\n"));
}

TEST(MboxTest, QuotedBeginningsAreAsTheyWere) {
  EXPECT_THAT(mails_of(kFrom + "Subject: s\n\n>From me\n>>From you\n> From both\n"),
              ElementsAre("Subject: s\n\nFrom me\n>From you\n> From both\n"));
}

TEST(MboxTest, AWrongLengthMisleadsNobody) {
  EXPECT_THAT(
      mails_of(kFrom + "Content-Length: 5000\n\none\n\n" + kFrom + "Content-Length: 1\n\ntwo\n"),
      ElementsAre("Content-Length: 5000\n\none\n", "Content-Length: 1\n\ntwo\n"));
}

TEST(MboxTest, AMissingEmptyLineBeforeAMailIsForgiven) {
  EXPECT_THAT(mails_of(kFrom + "Subject: 1\n\none\n" + kFrom + "Subject: 2\n\ntwo\n"),
              ElementsAre("Subject: 1\n\none\n", "Subject: 2\n\ntwo\n"));
}

TEST(MboxTest, AMailWithoutAHeadIsOne) {
  EXPECT_THAT(mails_of(kFrom + "\none\n\n" + kFrom + "\ntwo\n"), ElementsAre("\none\n", "\ntwo\n"));
}

TEST(MboxTest, WindowsLineEndsAndMailsWithoutAHeadOrATextAreFine) {
  EXPECT_THAT(mails_of("From a Tue Jul 1 10:52:37 2003\r\nSubject: 1\r\n\r\none\r\n\r\n"
                       "From b Tue Jul 1 10:52:37 2003\r\nSubject: 2\r\n"),
              ElementsAre("Subject: 1\r\n\r\none\r\n", "Subject: 2\r\n"));
  EXPECT_THAT(mails_of(""), IsEmpty());
}

TEST(MboxTest, LargeMailsAndEndlessLinesAreWhole) {
  const std::string large = "Subject: large\n\n" + std::string(3 << 20, 'x') + "\nend\n";
  EXPECT_THAT(mails_of(kFrom + large + "\n" + kFrom + "Subject: 2\n\ntwo\n"),
              ElementsAre(large, "Subject: 2\n\ntwo\n"));
}

TEST(MboxTest, WhatIsNoMailboxSaysSo) {
  const StepRun run = read_box("Subject: a mail\n\nnot a box\n");
  ASSERT_TRUE(run.end.has_value());
  EXPECT_EQ(run.end->kind, ErrorKind::Corrupt);
  EXPECT_THAT(made_children(run), IsEmpty());
}

TEST(MboxTest, TooManyMailsEndTheBox) {
  Limits limits;
  limits.members = 1;
  const std::string mail = kFrom + "Subject: s\n\nx\n\n";
  const StepRun run = read_box(mail + mail, limits);
  ASSERT_TRUE(run.end.has_value());
  EXPECT_EQ(run.end->kind, ErrorKind::TooMany);
  EXPECT_EQ(made_children(run).size(), 1U);
}

TEST(MboxTest, TenThousandMailsAreTenThousandChildrenTwiceTheSame) {
  std::string box;
  for (int i = 0; i < 10'000; ++i) {
    box += kFrom + "From: ann@example.org\nSubject: number " + std::to_string(i) +
           "\n\nText of it.\n>From the heart.\n\n";
  }
  const StepRun run = read_box(box);
  EXPECT_FALSE(run.end.has_value());
  const auto children = made_children(run);
  ASSERT_EQ(children.size(), 10'000U);
  EXPECT_EQ(children[9'999].name, "a.mbox/010000 number 9999.eml");
  EXPECT_EQ(children[9'999].blob,
            "From: ann@example.org\nSubject: number 9999\n\nText of it.\nFrom the heart.\n\n");
  EXPECT_EQ(read_box(box).parts, run.parts);
}

}  // namespace
}  // namespace quern::worker
