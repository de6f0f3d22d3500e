// The Msg step: Outlook's files, winmail.dat, compressed RTF; and mails written from them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "worker/eml_writer.h"
#include "worker/mapi.h"
#include "worker/ole_maker.h"
#include "worker/rtf.h"
#include "worker/step_children.h"
#include "worker/steps.h"
#include "worker/tnef_maker.h"

namespace quern::worker {
namespace {

using model::ErrorKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string utf16(std::string_view ascii) {
  std::string wide;
  for (const char c : ascii) wide += std::string{c, '\0'};
  return wide;
}

// Whichever test comes first, the libraries are ready.
void warm() {
  static const bool warmed = (msg_step().warm(), email_step().warm(), true);
  EXPECT_TRUE(warmed);
}

StepRun open_msg(const std::string& bytes) {
  warm();
  return run_step(msg_step(), "a.msg", bytes);
}

StepRun open_mail(const std::string& name, const std::string& bytes) {
  warm();
  return run_step(email_step(), name, bytes);
}

// Fixed values of a message: one date.
std::string fixed_values(std::size_t head) {
  // 2003-07-01T08:52:37Z.
  const std::uint64_t filetime = (1'057'049'557ULL + 11'644'473'600ULL) * 10'000'000ULL;
  return std::string(head, '\0') + little(0x0040, 2) + little(0x0039, 2) + little(6, 4) +
         little(filetime, 8);
}

OleMaker sample_message() {
  OleMaker ole;
  ole.stream("__properties_version1.0", fixed_values(32));
  ole.stream("__substg1.0_0037001F", utf16("Hello"));
  ole.stream("__substg1.0_0C1A001F", utf16("Ann"));
  ole.stream("__substg1.0_0C1F001F", utf16("ann@example.org"));
  ole.stream("__substg1.0_1000001F", utf16("words of Ann\r\n"));
  ole.stream("__substg1.0_1035001E", "<1@example.org>");
  const std::size_t to = ole.folder("__recip_version1.0_#00000000");
  ole.stream("__properties_version1.0", std::string(8, '\0'), to);
  ole.stream("__substg1.0_3001001F", utf16("Doe, Bob"), to);
  ole.stream("__substg1.0_39FE001F", utf16("bob@example.org"), to);
  const std::size_t more = ole.folder("__recip_version1.0_#00000001");
  ole.stream("__substg1.0_3001001F", utf16("'c@example.org'"), more);
  ole.stream("__substg1.0_39FE001F", utf16("c@example.org"), more);
  return ole;
}

TEST(MsgTest, AMessageIsItsHeadAndItsText) {
  const auto children = made_children(open_msg(sample_message().bytes()));
  ASSERT_EQ(children.size(), 1U);
  EXPECT_EQ(children[0].name, "a.msg");
  EXPECT_EQ(children[0].type, "text/plain");
  EXPECT_EQ(children[0].blob,
            "From: Ann <ann@example.org>\nTo: \"Doe, Bob\" <bob@example.org>; 'c@example.org'\n"
            "Date: 2003-07-01 08:52:37 UTC\nSubject: Hello\n\nwords of Ann\n");
  EXPECT_EQ(children[0].metadata.at("To").as_string(),
            "\"Doe, Bob\" <bob@example.org>, c@example.org");
  EXPECT_EQ(children[0].metadata.at("Date").as_string(), "2003-07-01T08:52:37Z");
  EXPECT_EQ(children[0].metadata.at("Message-ID").as_string(), "1@example.org");
}

TEST(MsgTest, AttachmentsSmallAndLargeAreChildren) {
  OleMaker ole = sample_message();
  const std::string large(10'000, 'L');
  const std::size_t first = ole.folder("__attach_version1.0_#00000000");
  ole.stream("__substg1.0_3707001F", utf16("../small.txt"), first);
  ole.stream("__substg1.0_37010102", "small bytes", first);
  const std::size_t second = ole.folder("__attach_version1.0_#00000001");
  ole.stream("__substg1.0_3704001E", "LARGE.BIN", second);
  ole.stream("__substg1.0_37010102", large, second);
  const std::size_t third = ole.folder("__attach_version1.0_#00000002");
  ole.stream("__substg1.0_3704001E", "GONE.TXT", third);
  const auto children = made_children(open_msg(ole.bytes()));
  EXPECT_THAT(names_of(children),
              ElementsAre("a.msg", "a.msg/small.txt", "a.msg/LARGE.BIN", "a.msg/GONE.TXT"));
  EXPECT_EQ(children[1].blob, "small bytes");
  EXPECT_EQ(children[2].blob, large);
  EXPECT_EQ(children[3].error, "corrupt");
}

TEST(MsgTest, AMessageInAMessageBecomesAMail) {
  OleMaker ole = sample_message();
  const std::size_t attachment = ole.folder("__attach_version1.0_#00000000");
  const std::size_t inner = ole.folder("__substg1.0_3701000D", attachment);
  ole.stream("__properties_version1.0", fixed_values(24), inner);
  ole.stream("__substg1.0_0037001F", utf16("Inside"), inner);
  ole.stream("__substg1.0_1000001F", utf16("inner words"), inner);
  const auto children = made_children(open_msg(ole.bytes()));
  EXPECT_THAT(names_of(children), ElementsAre("a.msg", "a.msg/Inside.eml"));
  EXPECT_EQ(children[1].type, "message/rfc822");
  const auto mail = made_children(open_mail("Inside.eml", children[1].blob));
  ASSERT_EQ(mail.size(), 1U);
  EXPECT_THAT(mail[0].blob, HasSubstr("Subject: Inside\n\ninner words"));
  EXPECT_EQ(mail[0].metadata.at("Date").as_string(), "2003-07-01T08:52:37Z");
}

TEST(MsgTest, AnEventSaysWhenAndWhere) {
  OleMaker ole = sample_message();
  ole.stream("__substg1.0_001A001F", utf16("IPM.Appointment"));
  const std::size_t names = ole.folder("__nameid_version1.0");
  // In this file, the place has the number 0x8001, and the start 0x8000.
  ole.stream("__substg1.0_00030102",
             little(0x820D, 4) + little(4, 2) + little(0, 2) + little(0x8208, 4) + little(4, 2) +
                 little(1, 2),
             names);
  ole.stream("__substg1.0_8001001F", utf16("Room 7"));
  const auto children = made_children(open_msg(ole.bytes()));
  EXPECT_THAT(children.at(0).blob, HasSubstr("\nLocation: Room 7\n"));
}

TEST(MsgTest, MessagesThatHoldThemselvesEnd) {
  OleMaker ole = sample_message();
  // Two attachments in each generation, and the next generation is this one.
  for (const char* name : {"__attach_version1.0_#00000000", "__attach_version1.0_#00000001"}) {
    const std::size_t attachment = ole.folder(name);
    const std::size_t inner = ole.folder("__substg1.0_3701000D", attachment);
    ole.stream("__properties_version1.0", fixed_values(24), inner);
    ole.link(inner, 0);
  }
  const StepRun run = open_msg(ole.bytes());
  ASSERT_TRUE(run.end.has_value());
  EXPECT_EQ(run.end->kind, ErrorKind::TooLarge);
}

TEST(MsgTest, WhatIsNoMessageSaysSo) {
  OleMaker other;
  other.stream("WordDocument", "words");
  for (const std::string& bytes :
       {std::string("just words"), other.bytes(), sample_message().bytes().substr(0, 600)}) {
    const StepRun run = open_msg(bytes);
    ASSERT_TRUE(run.end.has_value());
    EXPECT_EQ(run.end->kind, ErrorKind::Corrupt);
  }
}

TEST(MsgTest, TheSameMessageGivesTheSameBytes) {
  const std::string bytes = sample_message().bytes();
  EXPECT_EQ(open_msg(bytes).parts, open_msg(bytes).parts);
}

// Bytes changed here and there, the same ones each time: nothing may crash or hang.
void expect_own_word_of_damaged(const std::string& bytes) {
  std::uint32_t seed = 1;
  for (int i = 0; i < 2'000; ++i) {
    std::string damaged = bytes;
    for (int change = 0; change < 6; ++change) {
      seed = seed * 1'664'525 + 1'013'904'223;
      damaged[(seed >> 8) % damaged.size()] = static_cast<char>(seed >> 24);
    }
    const StepRun run = open_msg(damaged.substr(0, damaged.size() - seed % 100));
    EXPECT_TRUE(run.end || !run.parts.empty());
  }
}

TEST(MsgTest, DamagedMessagesEndByTheirOwnWord) {
  OleMaker ole = sample_message();
  const std::size_t attachment = ole.folder("__attach_version1.0_#00000000");
  ole.stream("__substg1.0_37010102", std::string(10'000, 'L'), attachment);
  ole.stream("__substg1.0_10090102", "\x2D", 0);
  expect_own_word_of_damaged(ole.bytes());
}

// The example of MS-OXRTFCP 3.1.
const std::string kCompressed(
    "\x2D\x00\x00\x00\x2B\x00\x00\x00\x4C\x5A\x46\x75\xF1\xC5\xC7\xA7\x03\x00\x0A\x00\x72\x63\x70"
    "\x67\x31\x32\x35\x42\x32\x0A\xF3\x20\x68\x65\x6C\x09\x00\x20\x62\x77\x05\xB0\x6C\x64\x7D\x0A"
    "\x80\x0F\xA0",
    49);

TEST(RtfTest, CompressedRtfIsWhatItWas) {
  EXPECT_EQ(decompressed_rtf(kCompressed).value_or(""),
            "{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n");
  EXPECT_FALSE(decompressed_rtf("short").has_value());
  EXPECT_FALSE(decompressed_rtf(std::string(100, 'x')).has_value());
}

TEST(RtfTest, HtmlInDisguiseIsHtmlAgain) {
  const RtfBody body = read_rtf(
      R"({\rtf1\ansi\ansicpg1252\fromhtml1 {\fonttbl{\f0 Arial;}}{\*\htmltag64 <p>}\htmlrtf {\b)"
      R"(\htmlrtf0 gr\'f6\'dfer {\*\htmltag84 &lt;}\htmlrtf <\htmlrtf0 \u8364 ?)"
      R"({\*\htmltag72 </p>}})");
  EXPECT_EQ(body.kind, RtfBody::Kind::Html);
  EXPECT_EQ(body.text, "<p>größer &lt;€</p>");
}

TEST(RtfTest, WordsOfPlainRtfAreReadInTheirCharset) {
  const RtfBody body = read_rtf(
      R"({\rtf1\ansi{\fonttbl{\f0\fcharset204 Arial;}}{\info{\title no text}}\f0 \'cf\'f0\'e8\par )"
      R"(a\tab\{b\}{\pict 00ff}})");
  EXPECT_EQ(body.kind, RtfBody::Kind::Text);
  EXPECT_EQ(body.text, "При\na\t{b}");
  EXPECT_EQ(read_rtf(R"({\rtf1 \u228 ?\u8364 ?\u-10179 ?\u-8704 ?})").text, "ä€😀");
}

TEST(TnefTest, AttachmentsAndTextOfWinmailAreChildren) {
  TnefMaker tnef;
  tnef.attribute(1, 0x00018004, std::string("the subject\0", 12));
  tnef.properties(1, tnef_property(0x1009, 0x0102, kCompressed), 1);
  tnef.attachment("SHORT~1.TXT", "bytes of it");
  tnef.properties(2, tnef_property(0x3707, 0x001F, utf16("long name.txt") + std::string(2, '\0')),
                  1);
  const auto children = made_children(open_msg(tnef.bytes() + "\r\n"));
  EXPECT_THAT(names_of(children), ElementsAre("a.msg", "a.msg/long name.txt"));
  EXPECT_THAT(children[0].blob, HasSubstr("hello world"));
  EXPECT_THAT(children[0].blob, HasSubstr("Subject: the subject"));
  EXPECT_EQ(children[1].blob, "bytes of it");
}

TEST(TnefTest, AMailWithWinmailHasWhatIsInIt) {
  TnefMaker tnef;
  tnef.attachment("report.txt", "the report");
  const std::string mail =
      "From: a@example.org\nContent-Type: multipart/mixed; boundary=B\n\n--B\n\nthe text\n--B\n"
      "Content-Type: application/ms-tnef; name=winmail.dat\nContent-Transfer-Encoding: base64\n\n" +
      base64_encoded(tnef.bytes()) + "\n--B--\n";
  const auto children = made_children(open_mail("m.eml", mail));
  EXPECT_THAT(names_of(children), ElementsAre("m.eml", "m.eml/report.txt"));
  EXPECT_THAT(children[0].blob, HasSubstr("the text"));
  EXPECT_EQ(children[1].blob, "the report");
}

TEST(TnefTest, DamagedWinmailsEndByTheirOwnWord) {
  TnefMaker tnef;
  tnef.properties(1, tnef_property(0x1009, 0x0102, kCompressed), 1);
  tnef.attachment("one.txt", "first");
  tnef.properties(2, tnef_property(0x3707, 0x001F, utf16("long name.txt")), 1);
  expect_own_word_of_damaged(tnef.bytes());
}

TEST(TnefTest, ACutWinmailKeepsWhatIsWholeAndSaysSo) {
  TnefMaker tnef;
  tnef.attachment("one.txt", "first").attachment("two.txt", std::string(1000, '2'));
  const StepRun run = open_msg(tnef.bytes().substr(0, tnef.bytes().size() - 500));
  ASSERT_TRUE(run.end.has_value());
  EXPECT_EQ(run.end->kind, ErrorKind::Corrupt);
  const auto children = made_children(run);
  ASSERT_GE(children.size(), 2U);
  EXPECT_EQ(children[1].blob, "first");
}

TEST(EmlWriterTest, AWrittenMailReadsAsItWasAndNamesWhatIsLost) {
  MailMessage message;
  message.set("From", "Änn <ann@example.org>");
  message.set("Date", "2003-07-01T08:52:37Z");
  message.set("Subject", "größer");
  message.set("References", "1@example.org 2@example.org");
  message.text = "words\n";
  MailAttachment good;
  good.name = "日本.bin";
  good.read = [](const ByteSink& sink) {
    for (int i = 0; i < 100; ++i) sink("0123456789");
    return std::optional<Failure>();
  };
  MailAttachment bad;
  bad.name = "lost.doc";
  bad.failure = Failure{ErrorKind::Corrupt, "damaged"};
  message.attachments = {good, bad};
  std::string eml;
  const auto losses = write_eml(message, [&](std::string_view bytes) { eml += bytes; });
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_EQ(losses[0].name, "lost.doc");
  const auto children = made_children(open_mail("m.eml", eml));
  EXPECT_THAT(names_of(children), ElementsAre("m.eml", "m.eml/日本.bin"));
  EXPECT_EQ(children[1].blob.size(), 1000U);
  EXPECT_EQ(children[0].metadata.at("From").as_string(), "Änn <ann@example.org>");
  EXPECT_EQ(children[0].metadata.at("Subject").as_string(), "größer");
  EXPECT_EQ(children[0].metadata.at("Date").as_string(), "2003-07-01T08:52:37Z");
  EXPECT_EQ(children[0].metadata.at("References").as_string(), "1@example.org 2@example.org");
  EXPECT_THAT(children[0].blob, HasSubstr("words"));
  EXPECT_THAT(children[0].blob, HasSubstr("lost.doc could not be read: damaged"));
}

}  // namespace
}  // namespace quern::worker
