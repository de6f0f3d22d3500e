// Concluding: the end of a request. Its result, the rows that others read and what is published
// appear together, in one transaction, once.
#pragma once

#include <string>
#include <vector>

#include "fileset/file_row.h"
#include "fileset/request_row.h"

namespace quern::fileset {

struct Conclusion {
  std::string status;
  std::string message;
  Landed landed;
  std::optional<PlatformItem> item;
  std::string strategy;
  std::vector<FileRow> files;      // with the bundle, in order
  std::vector<OwnRecord> records;  // that nobody has noted yet
};
// Of files that have all ended. `failed`: what is wrong with the whole; empty: nothing.
std::string status_of(const RequestRow& row, const std::vector<FileRow>& files,
                      const std::string& failed);

// False where it has ended before. Behind the fence of the request's partition.
Result<bool> conclude(store::Tx& tx, const RequestRow& row, const Conclusion& conclusion,
                      const std::string& topic_prefix);

}  // namespace quern::fileset
