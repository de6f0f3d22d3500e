// Persisting: what a result leaves in the tables that others read (ingest_request,
// ingest_file_result, ingest_fileset_platform, file_meta, cdx). docs/datasets.md has the rules.
//
// In the transaction that ends the request. A result that does not fit a table is left out of it,
// never an error: anything may stand in a request.
#pragma once

#include <boost/json.hpp>

#include "fileset/request.h"
#include "store/tx.h"

namespace quern::fileset {

inline constexpr std::size_t kStoredRequestUrlBytesMax = 1500;
inline constexpr std::size_t kStoredTerminalBytesMax = 2048;

// Insert or ignore; needs its source and its base_url.
Result<> persist_request(store::Tx& tx, const Request& request);
// A result of any of the types that make_result() and file_result() give. The last one wins.
Result<> persist_result(store::Tx& tx, const boost::json::object& result);

}  // namespace quern::fileset
