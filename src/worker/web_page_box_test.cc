// Page in its box: all charsets of the web are there, and one child serves many pages, each as if
// it were the first.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iconv.h>

#include "support/program.h"
#include "worker/box.h"
#include "worker/scratch_file.h"

namespace quern::worker {
namespace {

using ::testing::HasSubstr;

std::string encoded(std::string text, const char* charset) {
  const iconv_t handle = ::iconv_open(charset, "UTF-8");
  EXPECT_NE(handle, reinterpret_cast<iconv_t>(-1)) << charset;
  std::string bytes(text.size() * 4 + 16, '\0');
  char* in = text.data();
  char* out = bytes.data();
  std::size_t left = text.size();
  std::size_t room = bytes.size();
  EXPECT_NE(::iconv(handle, &in, &left, &out, &room), static_cast<std::size_t>(-1)) << charset;
  ::iconv(handle, nullptr, nullptr, &out, &room);
  ::iconv_close(handle);
  bytes.resize(bytes.size() - room);
  return bytes;
}

net::Task<std::string> read_all(std::shared_ptr<Run> run) {
  std::string body;
  std::string buffer(64 * 1024, '\0');
  for (;;) {
    const std::size_t n = co_await run->read(buffer);
    if (n == 0) break;
    body.append(buffer.data(), n);
  }
  const RunEnd end = co_await run->finish();
  co_return end.failure ? "(failed) " + end.failure->message : body;
}

class WebPageBoxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    BoxOptions options;
    options.program = support::program_path("quern-steps");
    options.step = "Page";
    auto box = loop_.run_until(Box::start(loop_, options));
    ASSERT_TRUE(box.ok()) << box.error().message();
    box_ = *std::move(box);
  }

  std::string body_of(const std::string& bytes, const std::string& type) {
    const io::Descriptor input = *make_memory_file(bytes);
    BoxTask task;
    task.json = fmt::format(R"({{"filename":"a","metadata":{{"content_type":"{}"}}}})", type);
    task.inputs = {input.get()};
    task.input_bytes = bytes.size();
    task.boundary = "BOUNDARY";
    task.job = 1;
    auto run = box_->run(task);
    CHECK_OK(run);
    return loop_.run_until(read_all(*run));
  }

  net::Loop loop_;
  std::unique_ptr<Box> box_;
};

struct Charset {
  const char* label;
  const char* charset;
  const char* text;
};
constexpr Charset kCharsets[] = {
    {"ISO-8859-1", "ISO-8859-1", "Größe"},
    {"windows-1250", "WINDOWS-1250", "Łódź"},
    {"windows-1251", "WINDOWS-1251", "Привет"},
    {"windows-1253", "WINDOWS-1253", "Γειά"},
    {"windows-1254", "WINDOWS-1254", "İstanbul"},
    {"windows-1255", "WINDOWS-1255", "שלום"},
    {"windows-1256", "WINDOWS-1256", "مرحبا"},
    {"windows-1257", "WINDOWS-1257", "Rīga"},
    {"windows-1258", "WINDOWS-1258", "Đà"},
    {"iso-8859-2", "ISO-8859-2", "Łódź"},
    {"iso-8859-5", "ISO-8859-5", "Привет"},
    {"iso-8859-7", "ISO-8859-7", "Γειά"},
    {"iso-8859-8", "ISO-8859-8", "שלום"},
    {"iso-8859-15", "ISO-8859-15", "œuvre €"},
    {"koi8-r", "KOI8-R", "Привет"},
    {"koi8-u", "KOI8-U", "Київ"},
    {"tis-620", "TIS-620", "สวัสดี"},
    {"Shift_JIS", "CP932", "漢字①"},
    {"euc-jp", "EUC-JP", "漢字"},
    {"iso-2022-jp", "ISO-2022-JP", "漢字"},
    {"gb2312", "GB18030", "汉字"},
    {"gbk", "GBK", "漢字"},
    {"big5", "BIG5", "漢字"},
    {"euc-kr", "EUC-KR", "안녕"},
    {"ks_c_5601-1987", "CP949", "똠방각하"},
    {"macintosh", "MACINTOSH", "Größe"},
    {"utf-16le", "UTF-16LE", "Größe"},
    {"utf-8", "UTF-8", "Größe"},
};

TEST_F(WebPageBoxTest, EveryCharsetThatAServerNamesIsRead) {
  for (const Charset& charset : kCharsets) {
    const std::string bytes = encoded(fmt::format("<p>|{}|</p>", charset.text), charset.charset);
    EXPECT_THAT(body_of(bytes, fmt::format("text/html; charset={}", charset.label)),
                HasSubstr(fmt::format("|{}|", charset.text)))
        << charset.label;
  }
}

TEST_F(WebPageBoxTest, ManyPagesOfACrawlAreReadAsTheFirstOne) {
  const std::string page = "<title>T</title><nav>Menu</nav><p>Some words <a href=x>of it</a>";
  const std::string first = body_of(page, "text/html");
  EXPECT_THAT(first, HasSubstr("Some words of it"));
  for (int i = 0; i < 120; ++i) {
    ASSERT_EQ(body_of(page, "text/html"), first);
    // Other pages between them leave nothing behind.
    static_cast<void>(body_of("<h1>Other</h1><pre>" + std::string(1'000, 'x'), "text/html"));
  }
}

}  // namespace
}  // namespace quern::worker
