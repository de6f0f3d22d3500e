// The platforms as the original program had them, slips included: Dataverse, Figshare, Zenodo and
// archive.org, with its rules of matching, its reading of the answers and the names it gave. Where
// it crashed, the status is "platform-error" with a message that says what was missing.
// docs/datasets.md says how the ones of today differ.
#pragma once

#include <memory>
#include <vector>

#include "fileset/platform.h"

namespace quern::fileset {

std::vector<std::unique_ptr<Platform>> original_platforms(const PlatformOptions& options);

// A persistent id as the original divides it.
struct OriginalPid {
  std::string whole;
  bool is_file = false;
};
// Nothing where it would not take it.
std::optional<OriginalPid> parse_original_pid(std::string_view pid);

}  // namespace quern::fileset
