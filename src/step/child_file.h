// What becomes of a child that a worker has sent: a document's file, a file for another step, or an
// error. The rules of docs/states.md, in one place. Pure but for what the decider knows.
#pragma once

#include <string>

#include "step/lent.h"
#include "step/options.h"
#include "step/pipeline.h"

namespace quern::step {

struct FileOptions {
  bool ocr = false;
  bool split_by_page = false;
  std::string language = "en";
  std::string user_metadata;  // a JSON object as text; empty: none
};
// As stored with a file, and back. What is no such JSON has the defaults.
std::string to_json(const FileOptions& options);
FileOptions parse_options(std::string_view json);

// The bytes behind the first ones of a PDF, or of a picture that browsers show.
bool looks_like_pdf(std::string_view head);
bool looks_like_image(std::string_view head, std::string_view content_type);
inline constexpr std::size_t kHeadBytes = 1024;

// `child` has a blob, inherits one, or has failed. blob_head: the first bytes of what it has.
tree::NewFile child_file(const Pipeline& pipeline, const Lent& lent, ChildUnderWay child);

// Why a rendering is not kept.
tree::Failure too_large_rendering(const Limits& limits);

// What an `error` part means: a sentence of somebody's converter.
tree::Failure worker_error(std::string message);

}  // namespace quern::step
