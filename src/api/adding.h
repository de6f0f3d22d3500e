// Adding root files: from a body, from many small ones in a body, from a finished upload.
#pragma once

#include <boost/json/object.hpp>
#include <memory>
#include <string>

#include "api/service.h"
#include "blob/blob.h"
#include "step/child_file.h"
#include "tree/child.h"

namespace quern::api {

inline constexpr std::size_t kFilenameBytesMax = 16 * 1024;
inline constexpr std::size_t kUserMetadataBytesMax = 64 * 1024;

// What a client says of a file that it adds.
struct RootOrder {
  std::string filename;
  std::string content_type = "application/octet-stream";
  step::FileOptions options;  // with the user's metadata
};
// The parameters filename, content_type, ocr, split_by_page, language, metadata. Invalid.
class Parameters;
Result<RootOrder> parse_root(Parameters& parameters);
Result<> validate(const RootOrder& order);
// The row that becomes of it, without its bytes.
tree::NewFile new_root(const Parts& parts, const RootOrder& order);

// Where the roots of a job go.
struct JobShards {
  tree::JobId job;
  tree::CollectionId collection;
  std::vector<tree::ShardId> shards;

  tree::ShardId of(std::int64_t index) const {
    return shards[static_cast<std::size_t>(index) % shards.size()];
  }
};
Result<JobShards> load_job_shards(store::Tx& tx, tree::JobId job);  // Missing

// The body as a durable blob. Full where the data folder is.
net::Task<Result<blob::Put>> spool_body(std::shared_ptr<const Parts> parts,
                                        net::Exchange& exchange);
Result<> expect_free_space(const Parts& parts);
// Stores the root and tells the pipeline. Takes care of bytes that were there already.
net::Task<Result<tree::AddedFile>> add_root(std::shared_ptr<const Parts> parts, tree::AddRoot root);

}  // namespace quern::api
