#include "api/file_json.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/explain.h"

namespace quern::api {
namespace {

namespace json = boost::json;
using model::FileClass;
using model::FileState;
using tree::File;

std::string fields_of(const json::object& object) {
  std::string names;
  for (const auto& [name, value] : object) names += std::string(name) + " ";
  return names;
}

File made_file() {
  File file;
  file.id = {17};
  file.parent = tree::FileId{3};
  file.filename = "a.zip/b.pdf";
  file.content_type = "application/pdf";
  file.metadata = R"({"case":"17"})";
  file.options = "{}";
  file.state = FileState::Ingested;
  file.became = FileClass::Document;
  return file;
}

// These are a contract: programs and comparisons of runs read them.
TEST(FileJsonTest, LinesHaveExactlyTheirFields) {
  EXPECT_EQ(fields_of(file_line(made_file())),
            "file parent filename depth content_type detected_type step state class n_children "
            "error_kind ");
  EXPECT_EQ(fields_of(document_line(made_file(), {})),
            "document filename page pages text_sha256 pdf_sha256 metadata ");
  EXPECT_EQ(fields_of(error_line(made_file())), "file filename kind message ");
  EXPECT_EQ(fields_of(ledger_line({})),
            "collection roots files documents containers converted empty errors in_progress "
            "skipped bytes_in balanced ");
}

TEST(FileJsonTest, ADocumentLineHasItsMetadataAsJsonAndDigestsInHex) {
  const json::object line = document_line(made_file(), {std::string(32, '\xab'), ""});
  EXPECT_EQ(json::serialize(line.at("metadata")), R"({"case":"17"})");
  EXPECT_EQ(line.at("pdf_sha256").as_string().size(), 64u);
  EXPECT_TRUE(line.at("text_sha256").is_null());
  EXPECT_TRUE(line.at("page").is_null());
}

TEST(FileJsonTest, ASupersededErrorSaysSo) {
  File file = made_file();
  file.superseded = true;
  EXPECT_TRUE(error_line(file).at("superseded").as_bool());
}

TEST(FileJsonTest, ALineOfATreeHasMoreThanOneOfAList) {
  File file = made_file();
  file.processing_error = "cut short";
  file.thumbnail = blob::BlobId{3};
  const json::object line = tree_line(file);
  EXPECT_EQ(fields_of(line),
            fields_of(file_line(file)) + "index bytes message has_thumbnail has_text ");
  EXPECT_EQ(line.at("message").as_string(), "cut short");
  EXPECT_TRUE(line.at("has_thumbnail").as_bool());
  EXPECT_TRUE(tree_line(made_file()).at("message").is_null());
}

File named(std::int64_t id, FileClass became) {
  File file = made_file();
  file.id = {id};
  file.became = became;
  return file;
}

TEST(FileJsonTest, TheOriginalIsFoundAboveWhateverWasConverted) {
  // From the file up to the root.
  std::vector<File> lineage{named(5, FileClass::Document), named(4, FileClass::Converted),
                            named(3, FileClass::Converted), named(2, FileClass::Container),
                            named(1, FileClass::Converted)};
  EXPECT_EQ(original_of(lineage), 2u);
  json::object details;
  add_origin(details, lineage, "leak");
  EXPECT_EQ(details.at("original").as_int64(), 3);
  EXPECT_EQ(details.at("collection").as_string(), "leak");
  ASSERT_EQ(details.at("parents").as_array().size(), 4u);
  EXPECT_EQ(details.at("parents").as_array()[0].at("file").as_int64(), 1) << "the root is first";
  lineage = {named(5, FileClass::Document)};
  EXPECT_EQ(original_of(lineage), 0u);
  lineage = {named(5, FileClass::Document), named(4, FileClass::InProgress)};
  EXPECT_EQ(original_of(lineage), 0u) << "nobody knows yet";
}

// -- explain --

File waiting_file() {
  File file = made_file();
  file.state = FileState::Written;
  file.became = FileClass::InProgress;
  file.step = "Office";
  return file;
}

Surroundings here() {
  Surroundings around;
  around.job.id = {4};
  around.held_here = true;
  around.owner = "host/1";
  return around;
}

TEST(ExplainTest, SaysWhoHasAFileAndForHowLong) {
  Surroundings around = here();
  around.lent_ms = 12'700;
  around.lent_to = "kitchen/7";
  around.fraction = 0.25;
  EXPECT_EQ(waits_for(waiting_file(), around),
            "lent to worker kitchen/7 for 12 s (Office, 25 % done)");
}

TEST(ExplainTest, SaysWhichWorkersAreMissing) {
  Surroundings around = here();
  EXPECT_EQ(waits_for(waiting_file(), around),
            "waits for a worker of Office: none is installed or connected");
  around.installed = true;
  EXPECT_NE(waits_for(waiting_file(), around).find("is started"), std::string::npos);
  around.stats.running = 2;
  around.stats.waiting = 30;
  EXPECT_EQ(waits_for(waiting_file(), around),
            "waits for a worker of Office: 2 are busy, 0 idle, 30 files wait");
}

TEST(ExplainTest, SaysThatNobodyOrSomebodyElseWorksOnTheJob) {
  Surroundings around = here();
  around.held_here = false;
  EXPECT_NE(waits_for(waiting_file(), around).find("in the hands of host/1"), std::string::npos);
  around.owner.clear();
  EXPECT_NE(waits_for(waiting_file(), around).find("nobody works on job 4"), std::string::npos);
  around.job.canceled = true;
  EXPECT_NE(waits_for(waiting_file(), around).find("canceled"), std::string::npos);
}

TEST(ExplainTest, AProcessedFileWaitsForItsChildrenAndAnIngestedOneForNothing) {
  File file = waiting_file();
  file.state = FileState::Processed;
  file.n_children = 5;
  file.n_ingested_children = 3;
  EXPECT_EQ(waits_for(file, here()), "waits for 2 of its 5 children");
  file.n_ingested_children = 5;
  EXPECT_EQ(waits_for(file, here()), "waits to be ingested");
  EXPECT_EQ(waits_for(made_file(), here()), "");
  file.state = FileState::Created;
  EXPECT_EQ(waits_for(file, here()), "waits for the rest of its upload");
}

TEST(ExplainTest, EveryOutcomeIsASentence) {
  File file = made_file();
  for (const FileClass became : model::kFileClasses) {
    file.became = became;
    EXPECT_FALSE(outcome_of(file).empty());
  }
  file.became = FileClass::Error;
  file.error_kind = "crash";
  file.processing_error = "signal 11";
  EXPECT_EQ(outcome_of(file), "it failed (crash): signal 11");
}

}  // namespace
}  // namespace quern::api
