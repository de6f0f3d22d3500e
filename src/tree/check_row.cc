#include "tree/check_row.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "model/steps.h"
#include "tree/finish.h"
#include "tree/insert.h"

namespace quern::tree {
namespace {

constexpr std::size_t kFindingsMax = 1000;

bool is_object(const std::string& text) {
  boost::system::error_code failed;
  const boost::json::value value = boost::json::parse(text, failed);
  return !failed && value.is_object();
}

using model::FileClass;

// What became of it, against what it is.
std::string_view wrong_class(const CheckedRow& row) {
  // A web page is a document by its text.
  const bool is_page = !row.is_root && row.step == model::to_string(model::StepId::Page);
  const bool is_pdf = is_page || row.content_type == model::kPdfType;
  switch (static_cast<FileClass>(*row.became - 1)) {
    case FileClass::Document:
      if (row.n_children > 0) return "it is a document with children";
      if (!row.has_text || !row.has_blob || !is_pdf) return "it is a document without PDF or text";
      return "";
    case FileClass::Container:
      return row.n_children > 0 ? "" : "it is a container without children";
    case FileClass::Converted:
      return row.n_children == 1 ? "" : "it is converted, but has not one child";
    case FileClass::Empty:
      return row.n_children == 0 ? "" : "it is empty, but has children";
    case FileClass::Error:
      return row.has_error ? "" : "it is an error without a reason";
    case FileClass::InProgress:
      break;
  }
  return "it has become something unknown";
}

void judge_parts(const CheckedRow& row, const auto& say) {
  if (row.has_blob && !row.blob_bytes) say("its blob is missing");
  if (row.blob_bytes && *row.blob_bytes != row.bytes) {
    say(fmt::format("it has {} bytes, but its blob has {}", row.bytes, *row.blob_bytes));
  }
  if (row.has_thumbnail && !row.thumbnail_is_there) say("its thumbnail is missing");
  if (row.has_thumbnail != row.thumbnail_has_type)
    say("its thumbnail has no type, or none to have");
  if (row.has_text && !row.text_is_there) say("its text is missing");
  if (!row.has_text && row.text_is_there) say("it has a text, but does not know it");
  if (row.text_blob_is_lost) say("the blob of its text is missing");
  if (!is_object(row.metadata)) say("its metadata is no JSON object");
  if (!is_object(row.options)) say("its options are no JSON object");
}

void judge_work(const CheckedRow& row, const auto& say) {
  const bool waits = row.state == stored(FileState::Written);
  if (row.step && !model::parse_step(*row.step))
    say(fmt::format("its step '{}' is unknown", *row.step));
  if (waits && !row.step) say("it waits for no step");
  if (waits && row.attempts >= kAttemptsMax) say("it waits, though it has failed often enough");
  if (row.lent && !waits) say("it is lent, though nothing is left to do");
  if (row.state == stored(FileState::Created) && !row.is_root)
    say("a derived file lacks its bytes");
  if (row.superseded && !row.has_error) say("it is superseded, though it did not fail");
}

}  // namespace

void Findings::add(std::string finding) {
  if (findings_.size() < kFindingsMax) {
    findings_.push_back(std::move(finding));
  } else if (findings_.size() == kFindingsMax) {
    findings_.push_back("and others of jobs and files: only the first are listed");
  }
}

bool Findings::full() const {
  return findings_.size() > kFindingsMax;
}

void Findings::append(std::vector<std::string> more) {
  for (std::string& finding : more) add(std::move(finding));
}

CheckedRow checked_row(const store::Row& row) {
  CheckedRow read;
  read.id = row.get<FileId>(0);
  read.collection = row.get<CollectionId>(1);
  read.shard = row.get<ShardId>(2);
  read.is_root = row.get<bool>(3);
  read.state = row.get<int>(4);
  read.became = row.get<std::optional<int>>(5);
  read.n_children = row.get<std::int64_t>(6);
  read.has_child = row.get<bool>(7);
  read.step = row.get<std::optional<std::string>>(8);
  read.width = row.get<double>(9);
  read.given = row.get<double>(10);
  read.has_error = row.get<bool>(11);
  read.attempts = row.get<std::int64_t>(12);
  read.lent = row.get<bool>(13);
  read.superseded = row.get<bool>(14);
  read.tree_files = row.get<std::int64_t>(15);
  read.bytes = row.get<std::int64_t>(16);
  read.has_text = row.get<bool>(17);
  read.content_type = row.get<std::string>(18);
  read.metadata = row.get<std::string>(19);
  read.options = row.get<std::string>(20);
  read.has_blob = row.get<bool>(21);
  read.blob_bytes = row.get<std::optional<std::int64_t>>(22);
  read.has_thumbnail = row.get<bool>(23);
  read.thumbnail_is_there = row.get<bool>(24);
  read.thumbnail_has_type = row.get<bool>(25);
  read.text_is_there = row.get<bool>(26);
  read.text_blob_is_lost = row.get<bool>(27);
  read.was_detected = row.get<bool>(28);
  read.wall_ms = row.get<std::int64_t>(29);
  read.cpu_ms = row.get<std::int64_t>(30);
  read.waited = row.get<bool>(31);
  return read;
}

void judge_row(const CheckedRow& row, Findings& findings) {
  const auto say = [&](std::string_view what) {
    findings.add(fmt::format("file {}: {}", row.id, what));
  };
  judge_parts(row, say);
  judge_work(row, say);
  if (row.n_children > 0 && !row.has_child) {
    say(fmt::format("{} children are noted, none is there", row.n_children));
  }
  if (!row.is_root && row.tree_files != 0) say("it counts a tree, but is no root");
  if (!row.became) return;
  if (const std::string_view wrong = wrong_class(row); !wrong.empty()) say(wrong);
}

}  // namespace quern::tree
