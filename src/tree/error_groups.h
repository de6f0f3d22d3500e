// Errors by kind and message: how many of each there are, and a few of them.
//
// Bounded: kGroupedErrorsMax errors are looked at, in reads of kErrorsPerRead; at most
// kGroupsHeldMax groups are held meanwhile, whose messages have at most kErrorBytesMax bytes.
// Errors that come when so many are held, of yet another message, are counted as others.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/sql.h"
#include "tree/file.h"

namespace quern::tree {

inline constexpr std::int64_t kGroupedErrorsMax = 200'000;
inline constexpr std::size_t kErrorsPerRead = 5'000;
inline constexpr std::size_t kGroupsHeldMax = 4'096;
inline constexpr std::size_t kGroupsMax = 200;
inline constexpr std::size_t kGroupExamplesMax = 3;

struct ErrorRow {
  FileId file;
  JobId job;
  FileCursor place;  // its name is there
  std::string kind;
  std::string message;
  bool superseded = false;
};
// The errors of a collection behind a place, by name.
Result<std::vector<ErrorRow>> list_error_rows(store::Tx& tx, const std::string& collection,
                                              const FileCursor& after, std::size_t limit);

struct ErrorGroup {
  std::string kind;
  std::string message;
  std::int64_t count = 0;
  std::int64_t superseded = 0;  // of them
  std::vector<std::pair<FileId, std::string>> examples;
};

class ErrorGroups {
 public:
  // Whether another read of errors may be looked at.
  bool has_room() const { return looked_at_ < kGroupedErrorsMax; }
  // Those of a job, or all.
  void look_at(const std::vector<ErrorRow>& rows, std::optional<JobId> job);
  std::int64_t counted() const { return counted_; }
  // The largest first, at most kGroupsMax.
  std::vector<ErrorGroup> largest() const;

 private:
  void add(const ErrorRow& row);

  std::map<std::pair<std::string, std::string>, ErrorGroup> groups_;
  std::int64_t looked_at_ = 0;
  std::int64_t counted_ = 0;
};

}  // namespace quern::tree
