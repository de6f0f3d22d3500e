// LentTask: what a poll was answered, as the broker needs it. Pure.
//
// The box gets only what a conversion needs: the addresses, which are keys to the server, stay
// here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quern::worker {

struct LentBlob {
  std::string url;
  std::string path;                 // on this machine; "" where there is none
  std::optional<std::string> data;  // the bytes themselves
  std::uint64_t bytes = 0;
};

// Of a Detect task.
struct LentFile {
  std::int64_t file = 0;
  std::string filename;
  LentBlob blob;
};

struct LentTask {
  std::string url;
  std::string metadata_url;  // where it is too large for the task; else ""
  LentBlob blob;
  std::vector<LentFile> files;
  std::string json;  // for the box
  std::int64_t job = 0;
};

// {"tasks":[...]} or a single task. Invalid where it is neither.
Result<std::vector<LentTask>> parse_lent_tasks(std::string_view text);
// The task's JSON with this metadata, itself a JSON object.
std::string with_metadata(std::string_view json, std::string_view metadata);
// The JSON of a Detect task with some of its files.
std::string detect_json(const std::vector<const LentFile*>& files);

}  // namespace quern::worker
