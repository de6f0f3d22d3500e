// Keeping one file of a dataset, or its bundle: downloaded, verified, preserved.
//
// It asks others and writes the part file only; what it found is written by whoever called. Asked
// again after a death it goes on with what is durable of the part. On the loop.
#pragma once

#include <filesystem>
#include <string>

#include "fileset/file_row.h"
#include "fileset/request_row.h"
#include "fileset/resolve.h"
#include "io/pool.h"
#include "net/loop.h"

namespace quern::fileset {

inline constexpr std::size_t kPathBytesMax = 1024;
inline constexpr std::size_t kPathDepthMax = 100;

// Why a path cannot be kept; empty: it can. Relative, without ".", "..", empty names, backslashes,
// control characters; strict: as the original, which knew one folder deep and no file called "name"
// in an item.
std::string path_problem(const std::string& path, const std::string& strategy, bool strict);

struct KeepParts {
  net::Loop& loop;
  io::Pool& pool;
  Outside& outside;
  std::int64_t file_bytes_max = 64LL << 30;
};

struct KeepEnd {
  FileRow row;
  bool passing = false;    // it failed, and may go well later
  bool has_bytes = false;  // the part is exactly the file
};

// What it refers to outlives it.
net::Task<KeepEnd> keep(const RequestRow& request, FileRow row, const Tools& tools, KeepParts parts,
                        std::filesystem::path part);

// Whether a file that was kept before is this one, as far as both tell: by path, address, size and
// digests.
bool is_same_file(const ManifestFile& before, const ManifestFile& now);
// The platform tells a digest, so that a file which has changed is another one.
bool is_vouched_for(const ManifestFile& file);

}  // namespace quern::fileset
