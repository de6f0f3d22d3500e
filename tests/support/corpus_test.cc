#include "support/corpus.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "io/file.h"

namespace quern::support {
namespace {

constexpr std::size_t kFileBytesMax = 64 * 1024 * 1024;

TEST(CorpusTest, AFolderThatWasNamedAndIsNotThereIsAnError) {
  const char* before = std::getenv("QUERN_CORPUS");
  const std::optional<std::string> kept =
      before == nullptr ? std::nullopt : std::optional<std::string>(before);
  ::setenv("QUERN_CORPUS", "/nowhere/at/all", 1);
  EXPECT_EQ(find_corpus().error().kind(), Errc::Missing);
  if (kept) {
    ::setenv("QUERN_CORPUS", kept->c_str(), 1);
  } else {
    ::unsetenv("QUERN_CORPUS");
  }
}

// What people really have, as text: whatever the bytes, the text made of them is valid, and valid
// text stays as it is.
TEST(CorpusTest, AnyFileMakesAValidText) {
  QUERN_CORPUS_OR_SKIP(corpus);
  const auto rows = load_corpus_index(corpus);
  ASSERT_TRUE(rows.ok()) << rows.error().message();
  ASSERT_GT(rows->size(), 1000U);
  int valid = 0;
  for (const CorpusRow& row : *rows) {
    const auto bytes = io::read_file(corpus / row.at("path"), kFileBytesMax);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message();
    EXPECT_EQ(std::to_string(bytes->size()), row.at("bytes")) << row.at("path");
    const std::string text = valid_utf8(*bytes);
    EXPECT_TRUE(is_valid_utf8(text)) << row.at("path");
    if (!is_valid_utf8(*bytes)) continue;
    EXPECT_EQ(text, *bytes) << row.at("path");
    ++valid;
  }
  std::printf("%zu files, %d of them valid UTF-8\n", rows->size(), valid);
  EXPECT_GT(valid, 0);
  EXPECT_LT(valid, static_cast<int>(rows->size()));
}

}  // namespace
}  // namespace quern::support
