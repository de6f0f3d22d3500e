#include "app/read_text.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace quern::app {
namespace {

namespace json = boost::json;

json::object file(const std::string& name, const std::string& became,
                  const std::string& kind = "") {
  json::object line{{"file", 7},
                    {"parent", nullptr},
                    {"filename", name},
                    {"class", became},
                    {"state", became == "in_progress" ? "written" : "ingested"},
                    {"step", "Archive"},
                    {"n_children", became == "container" ? 2 : 0}};
  line["error_kind"] = kind.empty() ? json::value() : json::value(kind);
  return line;
}

TEST(TreeTextTest, NamesAreShortBelowTheirParentsAndResultsStandOut) {
  const Emphasis plain;
  EXPECT_EQ(tree_text(file("a.zip", "container"), "", 0, plain), "* a.zip");
  EXPECT_EQ(tree_text(file("a.zip/b/c.txt", "converted"), "a.zip", 1, plain), "  * b/c.txt");
  EXPECT_EQ(tree_text(file("a.zip/b/c.txt", "document"), "a.zip/b/c.txt", 2, plain),
            "    * **c.txt**");
  EXPECT_EQ(tree_text(file("a.zip/run.bin", "error", "unhandled"), "a.zip", 1, plain),
            "  * **run.bin** (unhandled)");
  EXPECT_EQ(tree_text(file("a.zip/e.zip", "empty"), "a.zip", 1, plain), "  * e.zip (empty)");
  EXPECT_EQ(tree_text(file("a.zip/f.zip", "in_progress"), "a.zip", 1, plain),
            "  * f.zip (in progress: Archive)");
  EXPECT_EQ(tree_text(file("a/d.pdf", "document"), "a", 1, Emphasis::for_terminal()),
            "  * \033[1md.pdf\033[0m");
}

TEST(TreeTextTest, ANameCannotSpeakToTheTerminal) {
  EXPECT_EQ(tree_text(file("a\033[2Jb\n", "container"), "", 0, {}), "* a?[2Jb?");
}

TEST(ListTextTest, FilesSayWhatBecameOfThem) {
  EXPECT_TRUE(file_text(file("a.zip", "container")).ends_with("  2 files in it"));
  EXPECT_TRUE(file_text(file("x", "error", "crash")).ends_with("  error: crash"));
  EXPECT_TRUE(file_text(file("x", "converted")).ends_with("  converted"));
}

TEST(ListTextTest, DocumentsSayTheirPage) {
  json::object line{{"filename", "a.pdf"}, {"page", nullptr}, {"pages", nullptr}};
  EXPECT_EQ(document_text(line), "a.pdf");
  line["page"] = 2;
  EXPECT_TRUE(document_text(line).ends_with("page 2"));
  line["pages"] = 9;
  EXPECT_TRUE(document_text(line).ends_with("page 2 of 9"));
}

TEST(ListTextTest, AnErrorWhoseMessageIsItsKindSaysItOnce) {
  EXPECT_EQ(error_text({{"filename", "run.bin"}, {"kind", "unhandled"}, {"message", "unhandled"}}),
            "unhandled       run.bin");
  const std::string text =
      error_text({{"filename", "a"}, {"kind", "encrypted"}, {"message", "a password is needed"}});
  EXPECT_TRUE(text.starts_with("encrypted       a  "));
  EXPECT_TRUE(text.ends_with("  a password is needed"));
}

TEST(ListTextTest, SizesAreShort) {
  EXPECT_EQ(size_text(1), "1 byte");
  EXPECT_EQ(size_text(999), "999 bytes");
  EXPECT_EQ(size_text(1000), "1.0 kB");
  EXPECT_EQ(size_text(999'949), "999.9 kB");
  EXPECT_EQ(size_text(999'951), "1.0 MB");
  EXPECT_EQ(size_text(20'000'000'000), "20.0 GB");
}

TEST(ListTextTest, WithoutIdsTwoRunsAreEqual) {
  EXPECT_EQ(json::serialize(without_ids({{"file", 1}, {"parent", 2}, {"filename", "a"}})),
            R"({"filename":"a"})");
  EXPECT_EQ(json::serialize(without_ids({{"document", 1}, {"filename", "a"}, {"page", 3}})),
            R"({"filename":"a","page":3})");
}

TEST(LedgerTextTest, SaysWhetherItBalances) {
  json::object ledger{{"collection", "leak"}, {"roots", 1},   {"files", 3},
                      {"documents", 1},       {"errors", 1},  {"containers", 1},
                      {"bytes_in", 2048},     {"skipped", 2}, {"balanced", true}};
  EXPECT_EQ(ledger_text(ledger).front(), "leak: 1 file came in (2.0 kB), 2 left out");
  EXPECT_TRUE(ledger_text(ledger).back().ends_with("it balances"));
  ledger["balanced"] = false;
  EXPECT_NE(ledger_text(ledger).back().find("DOES NOT"), std::string::npos);
}

TEST(ExplanationTextTest, SaysWhatIsKnownAndNothingElse) {
  json::object known = file("a.zip/x", "error", "crash");
  known["outcome"] = "it failed (crash): signal 11";
  known["content_type"] = "application/octet-stream";
  known["detected_type"] = "application/zip";
  known["bytes"] = 12;
  known["attempts"] = 3;
  known["interruptions"] = 1;
  known["wall_ms"] = 40;
  known["worker"] = "kitchen/7";
  known["parents"] = {{{"file", 1}, {"filename", "a.zip"}, {"says", "it is a container"}}};
  std::string all;
  for (const std::string& line : explanation_text(known)) all += line + "\n";
  EXPECT_TRUE(all.starts_with("a.zip/x\n  it failed (crash): signal 11\n"));
  for (const char* part :
       {"application/zip (came as application/octet-stream)", "3 failed attempts, 1 interruption",
        "Archive by kitchen/7", "40 ms", "a.zip: it is a container"}) {
    EXPECT_NE(all.find(part), std::string::npos) << part << "\n" << all;
  }
  EXPECT_EQ(all.find("worker said"), std::string::npos);
}

}  // namespace
}  // namespace quern::app
