// Collecting: documents as the packer wants them, out of the tree.
#pragma once

#include <string>
#include <vector>

#include "blob/blob.h"
#include "search/pack_builder.h"
#include "store/readers.h"
#include "tree/file.h"

namespace quern::search {

inline constexpr std::size_t kCollectedAtOnce = 100;

// Of these files those that are documents of a job that is not being deleted, with their texts; at
// most kCollectedAtOnce are asked for. Blocks.
Result<std::vector<PackDocument>> collect(store::Readers& readers, const blob::BlobStore& blobs,
                                          const std::vector<tree::FileId>& files);

// What metadata (a JSON object) says of a document: its title, who made it, when.
struct About {
  std::string title;
  std::string subject;  // of a mail
  std::string author;
  std::string from;
  std::string url;  // of a web page, or of a file that was fetched
  std::int32_t day = kNoDay;
};
About read_about(const std::string& metadata);
// "2020-05-17…" as days since 1970; kNoDay where it is none.
std::int32_t parse_day(std::string_view text);

}  // namespace quern::search
