#include "step/multipart.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace quern::step {
namespace {

using Kind = MultipartReader::Kind;

constexpr std::string_view kType = "multipart/form-data; boundary=\"BOUND\"";

MultipartReader reader_of(std::string_view content_type) {
  Result<MultipartReader> made = MultipartReader::make(content_type);
  CHECK_OK(made);
  return *std::move(made);
}

// Appends what came out: "[name:data]" for a whole part, "!" for the end.
void take_events(MultipartReader& reader, std::string& text) {
  for (;;) {
    const MultipartReader::Event event = reader.next();
    switch (event.kind) {
      case Kind::NeedMore:
        return;
      case Kind::PartBegin:
        text += fmt::format("[{}:", event.text);
        break;
      case Kind::Data:
        EXPECT_FALSE(event.text.empty());
        text += event.text;
        break;
      case Kind::PartEnd:
        text += "]";
        break;
      case Kind::End:
        text += "!";
        return;
      case Kind::Malformed:
        text += fmt::format("?{}", event.text);
        return;
    }
  }
}

std::string read_in_pieces(std::string_view body, const std::vector<std::size_t>& cuts,
                           std::string_view type = kType) {
  MultipartReader reader = reader_of(type);
  std::string text;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= cuts.size(); ++i) {
    const std::size_t end = i < cuts.size() ? cuts[i] : body.size();
    // A copy of its own, so that a view kept too long is seen by the sanitizers.
    const std::string piece(body.substr(begin, end - begin));
    reader.feed(piece);
    take_events(reader, text);
    if (text.ends_with('!') || text.find('?') != std::string::npos) return text;
    begin = end;
  }
  return text + (reader.inside_part() ? "~cut" : "~");
}

// However it is cut: at once, in two at every place, in three at many, byte by byte.
std::string read(std::string_view body, std::string_view type = kType) {
  std::string whole = read_in_pieces(body, {}, type);
  for (std::size_t cut = 0; cut <= body.size(); ++cut) {
    EXPECT_EQ(read_in_pieces(body, {cut}, type), whole) << "cut at " << cut;
  }
  for (std::size_t first = 0; first <= body.size(); ++first) {
    const std::size_t second = std::min(first + 1 + first % 7, body.size());
    EXPECT_EQ(read_in_pieces(body, {first, second}, type), whole) << first << ", " << second;
  }
  std::vector<std::size_t> all;
  for (std::size_t cut = 1; cut < body.size(); ++cut) all.push_back(cut);
  EXPECT_EQ(read_in_pieces(body, all, type), whole);
  return whole;
}

std::string part(std::string_view name, std::string_view data) {
  return fmt::format("--BOUND\r\nContent-Disposition: form-data; name={}\r\n\r\n{}\r\n", name,
                     data);
}

TEST(MultipartTest, PartsComeOutInOrder) {
  EXPECT_EQ(read(part("0.json", "{}") + part("0.blob", "abc") + part("done", "") + "--BOUND--"),
            "[0.json:{}][0.blob:abc][done:]!");
}

TEST(MultipartTest, ALeadingLineEndOrAPreambleMeansNothing) {
  EXPECT_EQ(read("\r\n" + part("done", "") + "--BOUND--"), "[done:]!");
  EXPECT_EQ(read("hello\r\nworld --BOUND\r\n" + part("done", "x") + "--BOUND--"), "[done:x]!");
  EXPECT_EQ(read("\r\n\r\n--BOUND-1\r\n" + part("done", "x") + "--BOUND--"), "[done:x]!");
}

TEST(MultipartTest, WhatFollowsTheCloseDelimiterMeansNothing) {
  for (const char* epilogue : {"", "\r\n", "\r\n--BOUND\r\n\r\nx", "--", "junk"}) {
    EXPECT_EQ(read(part("a", "x") + "--BOUND--" + epilogue), "[a:x]!") << epilogue;
  }
}

TEST(MultipartTest, NamesAreQuotedOrNotAndHeaderNamesInAnyCase) {
  const std::string end = "\r\n\r\nx\r\n--BOUND--";
  EXPECT_EQ(read("--BOUND\r\nContent-Disposition: form-data; name=\"0.blob\"" + end),
            "[0.blob:x]!");
  EXPECT_EQ(read("--BOUND\r\ncontent-disposition:form-data;name=0.blob" + end), "[0.blob:x]!");
  EXPECT_EQ(read("--BOUND\r\nCONTENT-DISPOSITION: form-data; filename=\"a;name=b\"; NAME=c" + end),
            "[c:x]!");
  EXPECT_EQ(read("--BOUND\r\nContent-Disposition: form-data; name=\"a\\\"b\"" + end), "[a\"b:x]!");
}

TEST(MultipartTest, OtherHeadersAndMissingNamesAreTakenAsTheyAre) {
  const std::string end = "\r\n\r\nx\r\n--BOUND--";
  EXPECT_EQ(read("--BOUND\r\nContent-Type: text/plain; name=no\r\nX: y\r\n folded: on\r\n"
                 "Content-Disposition: form-data; name=yes" +
                 end),
            "[yes:x]!");
  EXPECT_EQ(read("--BOUND\r\nContent-Type: text/plain" + end), "[:x]!");
  EXPECT_EQ(read("--BOUND\r\n\r\nx\r\n--BOUND--"), "[:x]!");
}

TEST(MultipartTest, NestedBoundariesStayInsideTheBlob) {
  const std::string mail =
      "Content-Type: multipart/mixed; boundary=BOUND-1\r\n\r\n\r\n--BOUND-1\r\n\r\ntext\r\n"
      "--BOUND-1-1\r\n\r\n--BOUND-1--\r\n--BOUNDx\r\n--BOUND -\r\n--BOUN\r\n --BOUND\r\n--BOUND\rx";
  EXPECT_EQ(read(part("0.blob", mail) + "--BOUND--"), "[0.blob:" + mail + "]!");
  // A blob may begin with what looks like one, too.
  EXPECT_EQ(read(part("0.blob", "--BOUND-1\r\n") + "--BOUND--"), "[0.blob:--BOUND-1\r\n]!");
}

TEST(MultipartTest, ADelimiterMayHaveBlanksBehindIt) {
  EXPECT_EQ(read("--BOUND \t \r\n\r\nx\r\n--BOUND\t\r\n\r\ny\r\n--BOUND--"), "[:x][:y]!");
  const std::string many(kDelimiterBlanksMax, ' ');
  EXPECT_EQ(read("--BOUND\r\n\r\nx\r\n--BOUND" + many + "\r\n\r\ny\r\n--BOUND--"), "[:x][:y]!");
  const std::string more = "x\r\n--BOUND" + many + " \r\n";
  EXPECT_EQ(read("--BOUND\r\n\r\n" + more + "\r\n--BOUND--"), "[:" + more + "]!");
}

TEST(MultipartTest, LineEndsInDataAreData) {
  for (const char* data : {"\r", "\n", "\r\n", "\r\n\r\n", "\r\r\n-", "\r\n--", "\r\n-\r\n--B", "-",
                           "--", "\r\n--BOUND-", "\r\r", "x\r"}) {
    EXPECT_EQ(read(part("a", data) + "--BOUND--"), fmt::format("[a:{}]!", data));
  }
}

TEST(MultipartTest, AnEmptyBodyNeedsNoLineEndOfItsOwn) {
  const std::string head = "--BOUND\r\nContent-Disposition: form-data; name=done\r\n\r\n";
  EXPECT_EQ(read(head + "--BOUND--"), "[done:]!");
  EXPECT_EQ(read(head + "--BOUND\r\n\r\nx\r\n--BOUND--"), "[done:][:x]!");
}

TEST(MultipartTest, ABodyWithoutPartsEnds) {
  EXPECT_EQ(read("--BOUND--"), "!");
  EXPECT_EQ(read("\r\n--BOUND--\r\n"), "!");
}

TEST(MultipartTest, ABodyCutOffNeverEndsThePartItWasIn) {
  const std::string body = part("0.json", "{}") + part("0.blob", "abc") + "--BOUND--";
  const std::size_t second = body.find("--BOUND", 1);
  const std::size_t close = body.rfind("\r\n--BOUND--");
  for (std::size_t size = 0; size < body.size(); ++size) {
    const std::string text = read_in_pieces(body.substr(0, size), {});
    EXPECT_FALSE(text.ends_with('!')) << size;
    const bool first_whole = size >= second + std::string_view("--BOUND\r\n").size();
    EXPECT_EQ(text.find("{}]") != std::string::npos, first_whole) << size;
    EXPECT_EQ(text.find("abc]"), std::string::npos) << size;
    // What may be the beginning of the delimiter is no data yet.
    if (size > close) EXPECT_TRUE(text.ends_with("[0.blob:abc~cut")) << size << text;
  }
}

TEST(MultipartTest, TooMuchOfAHeaderOrPreambleIsMalformed) {
  const std::string fill(kPartHeadBytesMax, 'x');
  EXPECT_NE(read_in_pieces("--BOUND\r\nX: " + fill + "\r\n\r\n", {}).find('?'), std::string::npos);
  EXPECT_NE(read_in_pieces("--BOUND\r\nX: " + fill + "x", {3000, 5000}).find('?'),
            std::string::npos);
  const std::string fits(kPartHeadBytesMax - 3, 'x');
  for (const std::size_t cut : {1, 100, 8000, 8200, 8204, 8205}) {
    EXPECT_EQ(read_in_pieces("--BOUND\r\nX: " + fits + "\r\n\r\ny\r\n--BOUND--", {cut}), "[:y]!");
  }
  const std::string preamble(kPreambleBytesMax + 1, '\r');
  EXPECT_NE(read_in_pieces(preamble, {100, 70}).find('?'), std::string::npos);
  EXPECT_NE(read("--BOUND\r\nno header\r\n\r\n").find('?'), std::string::npos);
}

TEST(MultipartTest, AfterTheEndNothingComes) {
  MultipartReader reader = reader_of(kType);
  std::string text;
  reader.feed("--BOUND--");
  take_events(reader, text);
  reader.feed("\r\n--BOUND\r\n\r\nx");
  EXPECT_EQ(reader.next().kind, Kind::End);
  EXPECT_TRUE(reader.ended());
}

TEST(MultipartTest, TheBoundaryStandsAnywhereInTheContentType) {
  const std::string body = "--B'()+_,-./:=?\r\n\r\nx\r\n--B'()+_,-./:=?--";
  for (const char* type :
       {"multipart/form-data; boundary=\"B'()+_,-./:=?\"", "Multipart/Mixed;BOUNDARY=B'()+_,-./:=?",
        "multipart/form-data; charset=\"a;boundary=no\"; flag; Boundary=\"B'()+_,-./:=?\"; x=y",
        "  multipart/form-data ; boundary = \"B'\\()+_,-./:=?\" ;"}) {
    EXPECT_EQ(read_in_pieces(body, {}, type), "[:x]!") << type;
  }
}

TEST(MultipartTest, WhatIsNoMultipartOrHasNoBoundaryIsInvalid) {
  const std::string too_long = "multipart/form-data; boundary=" + std::string(201, 'x');
  for (const std::string& type :
       {std::string(), std::string("text/plain; boundary=x"), std::string("multipart"),
        std::string("multipart/form-data"), std::string("multipart/form-data; boundary="),
        std::string("multipart/form-data; boundary=\"\""),
        std::string("multipart/form-data; boundary=\"a\tb\""),
        std::string("multipart/form-data; boundary=\"a \""), too_long}) {
    const auto made = MultipartReader::make(type);
    ASSERT_FALSE(made.ok()) << type;
    EXPECT_EQ(made.error().kind(), Errc::Invalid);
  }
}

TEST(MultipartTest, RandomBodiesComeBackHoweverTheyAreCut) {
  std::mt19937 random(11);  // NOLINT: the same bodies every time
  const std::vector<std::string> shreds = {"\r",    "\n",         "\r\n",           "--",
                                           "BOUND", "-1",         "\r\n--BOUND-1",  "x",
                                           " ",     "\r\n--BOUN", "\r\n--BOUND \tx"};
  for (int round = 0; round < 300; ++round) {
    std::string body;
    std::string expected;
    for (std::uint32_t parts = random() % 4; parts > 0; --parts) {
      std::string data;
      for (std::uint32_t n = random() % 12; n > 0; --n) data += shreds[random() % shreds.size()];
      // Shreds may join to a real delimiter, which no sender would let stand.
      if (("\r\n" + data + "\r\n").find("\r\n--BOUND\r\n") != std::string::npos) data = "y";
      if (("\r\n" + data).find("\r\n--BOUND--") != std::string::npos) data = "z";
      if (("\r\n" + data + "\r\n").find("\r\n--BOUND \r\n") != std::string::npos) data = "y";
      body += part("a", data);
      expected += fmt::format("[a:{}]", data);
    }
    body += "--BOUND--";
    std::vector<std::size_t> cuts;
    for (std::size_t at = random() % 9; at < body.size(); at += 1 + random() % 9) {
      cuts.push_back(at);
    }
    ASSERT_EQ(read_in_pieces(body, cuts), expected + "!") << body;
  }
}

}  // namespace
}  // namespace quern::step
