// ResearchItem: what /research/work answered, and what is told of its clips. Pure.
//
// The server is trusted, so a field that is missing is an error and nothing is guessed. What a box
// wrote is not: research_lines.h reads that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quern::worker {

// An episode or a clip.
struct ResearchMedia {
  std::int64_t id = 0;
  std::int64_t number = 0;  // of a clip
  std::string target;       // where its bytes are, on the server that was asked
  std::string sha256;
  std::uint64_t bytes = 0;
};

struct ResearchItem {
  std::string lease_id;
  std::int64_t lease_ms = 0;
  std::int64_t algorithm = 0;
  std::int64_t fingerprint_version = 0;
  ResearchMedia episode;
  std::string fingerprint;  // where the episode's is; "" where there is none
  std::vector<ResearchMedia> clips;
};

// Invalid where it is not what the protocol says.
Result<ResearchItem> parse_research_item(std::string_view text);

struct FoundAt {
  std::int64_t offset_ns = 0;
  double score = 0;
};

// Of one clip.
struct ClipResult {
  std::vector<FoundAt> found;
  std::int64_t episode_duration_ns = 0;
  std::int64_t clip_duration_ns = 0;
  std::string error;
};

enum class LastOne { No, Yes };

// The bodies of /research/results: of a clip; of a lease that is to live on; of one that is to end.
std::string result_json(const ResearchItem& item, const ResearchMedia& clip,
                        const ClipResult& result, LastOne last);
std::string keep_json(const ResearchItem& item);
std::string final_json(const ResearchItem& item);

}  // namespace quern::worker
