// Taking an answer in: to the archive, to the blobs, and as what is written of it. Used by whoever
// fetches, and by whoever reads an archive back.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "blob/blob.h"
#include "crawl/page.h"
#include "crawl/plan.h"
#include "web/archive.h"

namespace quern::crawl {

// Which step takes a type, or why none does.
struct TypeDecision {
  std::string step;
  std::optional<tree::Failure> failure;
};
using Decide = std::function<TypeDecision(const std::string& type)>;

// Where an answer belongs.
struct TakeOrder {
  Page page;
  std::optional<NewCapture> before;  // that has the page's bytes
  tree::JobId job;
  tree::ShardId shard;
  std::int64_t tries = 1;
  std::int64_t period_us = 0;
  // Of what comes from an archive: it is a response there, and stays one here; and where it was
  // read before, nothing is archived.
  bool from_archive = false;
  std::optional<CaptureId> captured;
};

// What is durable of an answer, and named by nobody yet.
struct Taken {
  bool same = false;                  // the bytes are those of before
  std::string digest;                 // raw SHA-256 of the decoded body
  std::optional<NewCapture> capture;  // none where it has one already
  std::optional<blob::Put> put;       // where it becomes a file
};
// An answer with a status. Blocks.
Result<Taken> take_in(const TakeOrder& order, const web::Fetched& fetched, web::Archive& archive,
                      blob::BlobStore& blobs);
// Of an answer that belongs to no page: robots.txt.
Result<NewCapture> archive_answer(const std::string& url, const web::Fetched& fetched,
                                  web::Archive& archive);
// A revisit as an archive has it.
Result<NewCapture> archive_revisit(const web::CaptureOrder& order, int status,
                                   const std::string& type, web::Archive& archive);
// What is written of it; without `taken` where there was no answer.
FetchRecord record_of(const TakeOrder& order, const web::Fetched& fetched,
                      std::optional<Taken> taken, const Decide& decide);

}  // namespace quern::crawl
