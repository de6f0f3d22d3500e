// The Email step: what a reader sees of a mail, and what hangs on it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "worker/mail_document.h"
#include "worker/step_children.h"
#include "worker/steps.h"

namespace quern::worker {
namespace {

using model::ErrorKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kPng = "\x89PNG\r\n\x1A\n and what follows";

StepRun read_mail(const std::string& mail) {
  static const bool warmed = (email_step().warm(), true);
  EXPECT_TRUE(warmed);
  return run_step(email_step(), "box/a.eml", mail);
}

std::vector<MadeChild> children_of(const std::string& mail) {
  const StepRun run = read_mail(mail);
  EXPECT_FALSE(run.end.has_value()) << run.end->message;
  return made_children(run);
}

std::string part(const std::string& head, const std::string& body) {
  return "--B\n" + head + "\n\n" + body + "\n";
}

std::string mixed(const std::string& parts, const std::string& kind = "mixed") {
  return "From: a@example.org\nSubject: s\nMIME-Version: 1.0\nContent-Type: multipart/" + kind +
         "; boundary=B\n\n" + parts + "--B--\n";
}

TEST(EmailTest, APlainMailIsItsHeadAndItsText) {
  const auto children = children_of(
      "From: Ann <ann@example.org>\nTo: bob@example.org, \"C, D\" <cd@example.org>\n"
      "Date: Tue, 1 Jul 2003 10:52:37 +0200\nSubject: Hello\nMessage-ID: <1@example.org>\n"
      "References: <0@example.org>\n <9@example.org>\n\nFirst line\r\nsecond\n");
  ASSERT_EQ(children.size(), 1U);
  EXPECT_EQ(children[0].name, "box/a.eml");
  EXPECT_EQ(children[0].type, "text/plain");
  EXPECT_EQ(children[0].blob,
            "From: Ann <ann@example.org>\nTo: bob@example.org, \"C, D\" <cd@example.org>\n"
            "Date: Tue, 1 Jul 2003 10:52:37 +0200\nSubject: Hello\n\nFirst line\nsecond\n");
  EXPECT_EQ(boost::json::serialize(children[0].metadata),
            R"({"From":"Ann <ann@example.org>",)"
            R"("To":"bob@example.org, \"C, D\" <cd@example.org>","Date":"2003-07-01T08:52:37Z",)"
            R"("Subject":"Hello","Message-ID":"1@example.org","In-Reply-To":null,)"
            R"("References":"0@example.org 9@example.org"})");
}

TEST(EmailTest, HeadsInEveryEncodingAreReadable) {
  const auto subject = [](const std::string& raw) {
    const auto children = children_of("From: x@example.org\nSubject: " + raw + "\n\nx\n");
    return std::string(children.at(0).metadata.at("Subject").as_string());
  };
  EXPECT_EQ(subject("=?ISO-8859-1?Q?Gr=F6=DFe?= =?UTF-8?B?4oKs?="), "Größe€");
  EXPECT_EQ(subject("=?ISO-2022-JP?B?GyRCRnxLXBsoQg==?="), "日本");
  EXPECT_EQ(subject("Gr\xC3\xB6\xC3\x9F"
                    "e"),
            "Größe");
  EXPECT_EQ(subject("die Gr\xF6\xDF"
                    "e der T\xFCren"),
            "die Größe der Türen");
  EXPECT_EQ(subject("=?no-such-charset?Q?abc?="), "abc");
}

TEST(EmailTest, OfTwoFormsTheRicherIsShown) {
  const std::string text = part("Content-Type: text/plain", "plain wörds [rich]");
  const std::string html =
      part("Content-Type: text/html; charset=iso-8859-1\nContent-Transfer-Encoding: 8bit",
           "<html><head><meta charset=iso-8859-1></head><body><p>plain but rich w\xF6rds</p>"
           "</body></html>");
  const auto children = children_of(mixed(text + html, "alternative"));
  ASSERT_EQ(children.size(), 1U);
  EXPECT_EQ(children[0].type, "text/html");
  EXPECT_THAT(children[0].blob, HasSubstr("<meta charset=\"utf-8\">"));
  EXPECT_THAT(children[0].blob, HasSubstr("<body><div><b>From:</b> a@example.org<br>"));
  EXPECT_THAT(children[0].blob, HasSubstr("<p>plain but rich wörds</p>"));
  EXPECT_THAT(children[0].blob, Not(HasSubstr("iso-8859-1")));
  EXPECT_THAT(children[0].blob, Not(HasSubstr("[rich]")));
}

TEST(EmailTest, AFormThatSaysOtherThingsIsShownToo) {
  const auto children =
      children_of(mixed(part("Content-Type: text/plain", "quite different sentences") +
                            part("Content-Type: text/html", "<p>what most readers see</p>"),
                        "alternative"));
  ASSERT_EQ(children.size(), 1U);
  EXPECT_THAT(children[0].blob, HasSubstr("what most readers see"));
  EXPECT_THAT(children[0].blob, HasSubstr("quite different sentences"));
  const auto twice = children_of(mixed(part("Content-Type: text/plain", "the better part") +
                                           part("Content-Type: text/plain", "the worse part"),
                                       "alternative"));
  EXPECT_THAT(twice.at(0).blob, HasSubstr("the worse part\n\nthe better part"));
}

TEST(EmailTest, AnEmptyFormIsNotPreferred) {
  const auto children =
      children_of(mixed(part("Content-Type: text/plain", "plain words") +
                            part("Content-Type: text/html", "<html><body>&nbsp;</body></html>"),
                        "alternative"));
  ASSERT_EQ(children.size(), 1U);
  EXPECT_EQ(children[0].type, "text/plain");
  EXPECT_THAT(children[0].blob, HasSubstr("plain words"));
}

TEST(EmailTest, AnInvitationBesideTheTextIsKept) {
  const auto children =
      children_of(mixed(part("Content-Type: text/plain", "come") +
                            part("Content-Type: text/calendar", "BEGIN:VCALENDAR"),
                        "alternative"));
  EXPECT_THAT(names_of(children), ElementsAre("box/a.eml", "box/a.eml/attachment-1.ics"));
}

TEST(EmailTest, NoByteIsLostWhereLinesEndInTwoWaysOrPaddingIsMissing) {
  for (const std::string bytes : {"a", "ab", "abc", "abcd", "abcde"}) {
    const std::string whole = base64_encoded(bytes);
    const std::string bare = whole.substr(0, whole.find('='));
    for (const std::string& text : {whole, bare, whole + "\n", bare + "\n", whole + "\r\n"}) {
      const auto children = children_of(
          "From: a@example.org\r\nTo: b@example.org\r\nContent-Type: multipart/mixed; "
          "boundary=cut\r\n\r\n--cut\r\nContent-Type: text/plain\r\n\r\nsee\r\n--cut\r\n"
          "Content-Type: application/zip; name=a.zip\r\nContent-Transfer-Encoding: base64\r\n\r\n" +
          text + "\n--cut--\r\n");
      ASSERT_EQ(children.size(), 2U) << text;
      EXPECT_EQ(children[1].blob, bytes) << text;
    }
  }
}

TEST(EmailTest, PicturesOfTheBodyAreShownInIt) {
  const std::string picture =
      part("Content-Type: image/png\nContent-ID: <p1>\nContent-Transfer-Encoding: base64",
           base64_encoded(kPng));
  const std::string unused =
      part("Content-Type: image/png; name=other.png\nContent-ID: <p2>", "no picture at all");
  const auto children = children_of(
      mixed(part("Content-Type: text/html", "<p>see <img src=\"cid:p1\"></p>") + picture + unused,
            "related"));
  EXPECT_THAT(names_of(children), ElementsAre("box/a.eml", "box/a.eml/other.png"));
  EXPECT_THAT(children[0].blob,
              HasSubstr("<img src=\"data:image/png;base64," + base64_encoded(kPng) + "\">"));
}

TEST(EmailTest, TagsWithoutAnEndCostNothing) {
  std::string html = "<meta charset=a><meta name=x charset=b><p>seen</p>";
  for (int i = 0; i < 20'000; ++i) html += "<meta charset=x <img src=cid:a cid:cid:";
  const auto children =
      children_of("From: a@example.org\nContent-Type: text/html\n\n" + html + ">");
  EXPECT_THAT(children.at(0).blob, HasSubstr("<p>seen</p>"));
  EXPECT_THAT(children.at(0).blob, Not(HasSubstr("charset=a>")));
  EXPECT_THAT(children.at(0).blob, Not(HasSubstr("charset=b>")));
  EXPECT_LT(children.at(0).blob.size(), html.size() + 1000);
}

TEST(EmailTest, AttachmentsAreChildrenWithPlainNamesOnceEach) {
  const std::string file = "Content-Disposition: attachment; ";
  const auto children =
      children_of(mixed(part("Content-Type: text/plain", "the body") +
                        part(file + "filename=\"../../etc/passwd\"", "1") +
                        part(file + "filename=a.txt", "2") + part(file + "filename=a.txt", "3") +
                        part(file + "filename*=UTF-8''%e2%82%ac%20rates.pdf", "4") +
                        part(file + "filename*0=very; filename*1=long.txt", "5") +
                        part(file + "filename=\"=?UTF-8?Q?Gr=C3=B6=C3=9Fe.txt?=\"", "6") +
                        part("Content-Type: image/png\nContent-Disposition: attachment", "7")));
  EXPECT_THAT(names_of(children),
              ElementsAre("box/a.eml", "box/a.eml/etc/passwd", "box/a.eml/a.txt",
                          "box/a.eml/a (2).txt", "box/a.eml/€ rates.pdf", "box/a.eml/verylong.txt",
                          "box/a.eml/Größe.txt", "box/a.eml/attachment-7.png"));
  EXPECT_EQ(children[3].blob, "3");
  EXPECT_EQ(children[3].type, "application/octet-stream");
  EXPECT_EQ(children[3].metadata.at("Subject").as_string(), "s");
  EXPECT_THAT(children[0].blob, HasSubstr("Attachments: etc/passwd, a.txt, a (2).txt,"));
}

TEST(EmailTest, AMessageInAMessageIsAMailAgain) {
  const auto children =
      children_of(mixed(part("Content-Type: text/plain", "see below") +
                        part("Content-Type: message/rfc822",
                             "From: inner@example.org\nSubject: Re: in/side\n\ninner text")));
  EXPECT_THAT(names_of(children), ElementsAre("box/a.eml", "box/a.eml/Re: in-side.eml"));
  EXPECT_EQ(children[1].type, "message/rfc822");
  EXPECT_THAT(children[1].blob, StartsWith("From: inner@example.org\nSubject: Re: in/side\n"));
  EXPECT_THAT(children[1].blob, HasSubstr("inner text"));
  EXPECT_TRUE(children[1].metadata.empty());
}

TEST(EmailTest, TextsOfOneMailAreOneBody) {
  const auto children = children_of(mixed(part("Content-Type: text/plain", "first") +
                                          part("Content-Type: text/plain", "-- list footer")));
  ASSERT_EQ(children.size(), 1U);
  EXPECT_THAT(children[0].blob, HasSubstr("first\n\n-- list footer"));
  const auto rich = children_of(mixed(part("Content-Type: text/html", "<p>first</p>") +
                                      part("Content-Type: text/plain", "a < b")));
  EXPECT_THAT(rich.at(0).blob, HasSubstr("<div style=\"white-space:pre-wrap\">a &lt; b"));
}

TEST(EmailTest, FlowedLinesAreWhole) {
  EXPECT_EQ(unflowed("one \ntwo\n> a \n> b\n-- \nname\n", DeleteSpace::No),
            "one two\n> a b\n-- \nname\n");
  EXPECT_EQ(unflowed(" From x\nab \ncd\n", DeleteSpace::Yes), "From x\nabcd\n");
}

TEST(EmailTest, FilesInTheTextOfOldMailsAreAttachments) {
  const auto children = children_of(
      "From: a@example.org\n\nsee the file\nbegin 644 hello.txt\n+:&5L;&\\@=V]R;&0`\n`\nend\nbye\n"
      "begin 644 is not always one\n");
  EXPECT_THAT(names_of(children), ElementsAre("box/a.eml", "box/a.eml/hello.txt"));
  EXPECT_EQ(children[1].blob, "hello world");
  EXPECT_THAT(children[0].blob, HasSubstr("see the file\nbye\nbegin 644 is not always one\n"));
}

// Bytes changed here and there, the same ones each time: nothing may crash or hang.
TEST(EmailTest, DamagedMailsEndByTheirOwnWord) {
  const std::string mail =
      mixed(part("Content-Type: text/html; charset=utf-8", "<p>see <img src=\"cid:p1\"></p>") +
            part("Content-Type: image/png\nContent-ID: <p1>\nContent-Transfer-Encoding: base64",
                 base64_encoded(kPng)) +
            part("Content-Type: message/rfc822", "Subject: =?utf-8?q?x?=\n\ninner") +
            part("Content-Type: text/plain; format=flowed", "begin 644 a\n#86)C\n`\nend \n> b\n"));
  std::uint32_t seed = 1;
  for (int i = 0; i < 2'000; ++i) {
    std::string damaged = mail;
    for (int change = 0; change < 4; ++change) {
      seed = seed * 1'664'525 + 1'013'904'223;
      damaged[(seed >> 8) % damaged.size()] = static_cast<char>(seed >> 24);
    }
    const StepRun run = read_mail(damaged.substr(0, damaged.size() - seed % 50));
    EXPECT_TRUE(run.end || !run.parts.empty());
  }
}

TEST(EmailTest, TextThatLiesAboutItsCharsetIsReadable) {
  const auto text = [](const std::string& charset, const std::string& body) {
    return children_of("From: a@example.org\nContent-Type: text/plain; charset=" + charset +
                       "\nContent-Transfer-Encoding: 8bit\n\n" + body)
        .at(0)
        .blob;
  };
  EXPECT_THAT(text("us-ascii",
                   "Gr\xC3\xB6\xC3\x9F"
                   "e"),
              HasSubstr("Größe"));
  EXPECT_THAT(text("iso-8859-1", "\x93quoted\x94"), HasSubstr("“quoted”"));
  EXPECT_THAT(text("no-such-charset",
                   "Gr\xC3\xB6\xC3\x9F"
                   "e"),
              HasSubstr("Größe"));
  EXPECT_THAT(text("shift_jis", "\x93\xFA\x96\x7B"), HasSubstr("日本"));
}

TEST(EmailTest, AnEmlxIsTheMailWithinIt) {
  const std::string mail = "From: a@example.org\nSubject: s\n\nwords\n";
  const auto children = children_of(std::to_string(mail.size()) + "      \n" + mail +
                                    "<?xml version=\"1.0\"?><plist/>");
  ASSERT_EQ(children.size(), 1U);
  EXPECT_EQ(children[0].blob, "From: a@example.org\nSubject: s\n\nwords\n");
}

TEST(EmailTest, WhatIsEncryptedSaysSoBesideItsHead) {
  const auto children =
      children_of(mixed(part("Content-Type: application/pgp-encrypted", "Version: 1") +
                            part("Content-Type: application/octet-stream", "-----BEGIN PGP"),
                        "encrypted"));
  ASSERT_EQ(children.size(), 2U);
  EXPECT_THAT(children[0].blob, StartsWith("From: a@example.org"));
  EXPECT_EQ(children[1].error, "encrypted");
}

std::string der(char tag, const std::string& body) {
  std::string head(1, tag);
  if (body.size() < 128) return head + static_cast<char>(body.size()) + body;
  head += {'\x82', static_cast<char>(body.size() >> 8), static_cast<char>(body.size())};
  return head + body;
}

std::string signed_by_nobody(const std::string& entity) {
  const std::string pkcs7("\x2A\x86\x48\x86\xF7\x0D\x01\x07");
  const std::string content = der('\x06', pkcs7 + '\x01') + der('\xA0', der('\x04', entity));
  const std::string data =
      der('\x02', "\x01") + der('\x31', "") + der('\x30', content) + der('\x31', "");
  return der('\x30', der('\x06', pkcs7 + '\x02') + der('\xA0', der('\x30', data)));
}

TEST(EmailTest, ASignedMessageIsOpened) {
  const std::string cms = signed_by_nobody("Content-Type: text/plain\r\n\r\nsigned and seen\r\n");
  const auto children = children_of(
      "From: a@example.org\nContent-Type: application/pkcs7-mime; smime-type=signed-data; "
      "name=smime.p7m\nContent-Transfer-Encoding: base64\n\n" +
      base64_encoded(cms) + "\n");
  ASSERT_EQ(children.size(), 1U);
  EXPECT_THAT(children[0].blob, HasSubstr("signed and seen"));
}

TEST(EmailTest, OnlyTheSignatureOfASignedMailIsLeftOut) {
  const auto children = children_of(
      mixed(part("Content-Type: text/plain", "what is signed") +
                part("Content-Type: application/pgp-signature; name=signature.asc", "-----BEGIN") +
                part("Content-Type: application/pdf; name=more.pdf", "%PDF"),
            "signed"));
  EXPECT_THAT(names_of(children), ElementsAre("box/a.eml", "box/a.eml/more.pdf"));
}

TEST(EmailTest, ADamagedEnvelopeFailsAloneAndIsNamed) {
  const auto children = children_of(
      "From: a@example.org\nContent-Type: application/pkcs7-mime; name=smime.p7m\n\nrubbish\n");
  ASSERT_EQ(children.size(), 2U);
  EXPECT_EQ(children[1].name, "box/a.eml/smime.p7m");
  EXPECT_EQ(children[1].error, "corrupt");
}

TEST(EmailTest, PartsAndTheirDepthAreBounded) {
  std::string many;
  for (std::size_t i = 0; i <= kMailPartsMax; ++i) many += part("Content-Type: image/png", "x");
  const auto wide = children_of(mixed(many));
  EXPECT_EQ(wide.back().error, "too_many");
  EXPECT_LE(wide.size(), kMailPartsMax + 2);
  std::string deep = "From: a@example.org\n";
  for (int i = 0; i < kMailDepthMax * 2; ++i) {
    const std::string boundary = "b" + std::to_string(i);
    deep += "Content-Type: multipart/mixed; boundary=" + boundary + "\n\n--" + boundary + "\n";
  }
  EXPECT_EQ(children_of(deep + "\nbottom").back().error, "too_deep");
}

TEST(EmailTest, AMultipartWithoutItsBoundaryLosesNoWord) {
  const auto children = children_of(
      "From: a@example.org\nContent-Type: multipart/mixed; boundary=B\n\nwords of a person\n");
  EXPECT_THAT(children.at(0).blob, HasSubstr("words of a person"));
}

TEST(EmailTest, AMailOutOfABoxMayHaveNoHead) {
  EXPECT_EQ(children_of("\nonly words\n").at(0).blob, "only words\n");
}

TEST(EmailTest, WhatIsNoMailSaysSo) {
  for (const char* bytes : {"", "just some words\nand more\n"}) {
    const StepRun run = read_mail(bytes);
    ASSERT_TRUE(run.end.has_value()) << bytes;
    EXPECT_EQ(run.end->kind, ErrorKind::Corrupt);
  }
}

TEST(EmailTest, TheSameMailGivesTheSameBytesOnAnyDayAndPlace) {
  const std::string mail =
      mixed(part("Content-Type: text/html", "<p>x</p>") +
            part("Content-Type: message/rfc822", "Subject: y\nDate: 1 Jan 2020 00:00\n\nz"));
  const auto first = read_mail(mail).parts;
  ::setenv("TZ", "Asia/Tokyo", 1);
  ::tzset();
  EXPECT_EQ(read_mail(mail).parts, first);
  ::unsetenv("TZ");
  ::tzset();
}

}  // namespace
}  // namespace quern::worker
