// What check_tree reads of a file, and what is wrong with it alone. For use inside tree only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/rows.h"
#include "tree/job.h"

namespace quern::tree {

class Findings {
 public:
  void add(std::string finding);
  bool full() const;
  std::vector<std::string> take() { return std::move(findings_); }
  void append(std::vector<std::string> more);

 private:
  std::vector<std::string> findings_;
};

// As selected by QUERN_CHECKED_COLUMNS, in that order.
struct CheckedRow {
  FileId id;
  CollectionId collection;
  ShardId shard;
  bool is_root = false;
  int state = 0;
  std::optional<int> became;  // stored class
  std::int64_t n_children = 0;
  bool has_child = false;
  std::optional<std::string> step;
  double width = 0;
  double given = 0;
  bool has_error = false;
  std::int64_t attempts = 0;
  bool lent = false;
  bool superseded = false;
  std::int64_t tree_files = 0;
  std::int64_t bytes = 0;
  bool has_text = false;
  std::string content_type;
  std::string metadata;
  std::string options;
  bool has_blob = false;
  std::optional<std::int64_t> blob_bytes;  // of the blob's row
  bool has_thumbnail = false;
  bool thumbnail_is_there = false;
  bool thumbnail_has_type = false;
  bool text_is_there = false;
  bool text_blob_is_lost = false;
  bool was_detected = false;
  bool waited = false;  // for its step
  std::int64_t wall_ms = 0;
  std::int64_t cpu_ms = 0;
};

#define QUERN_CHECKED_COLUMNS                                                                   \
  "f.id, f.collection, f.partition, f.parent IS NULL, f.state, f.class, f.n_children,"          \
  " EXISTS (SELECT 1 FROM file AS c WHERE c.parent = f.id), f.step,"                            \
  " f.progress_end - f.progress_begin, f.progress_given, f.error_kind IS NOT NULL, f.attempts," \
  " f.lent, f.superseded, f.tree_files, f.bytes, f.has_text, f.content_type, f.metadata,"       \
  " f.options, f.blob IS NOT NULL, b.bytes, f.thumbnail IS NOT NULL, i.id IS NOT NULL,"         \
  " f.thumbnail_type IS NOT NULL, t.file IS NOT NULL, t.blob IS NOT NULL AND l.id IS NULL,"     \
  " f.detected_type IS NOT NULL, coalesce(f.wall_ms, 0), coalesce(f.cpu_ms, 0), f.waited"
#define QUERN_CHECKED_TABLES                                                             \
  " FROM file AS f LEFT JOIN blob AS b ON b.id = f.blob"                                 \
  " LEFT JOIN blob AS i ON i.id = f.thumbnail LEFT JOIN file_text AS t ON t.file = f.id" \
  " LEFT JOIN blob AS l ON l.id = t.blob"

CheckedRow checked_row(const store::Row& row);

// What is wrong with the row by itself.
void judge_row(const CheckedRow& row, Findings& findings);

}  // namespace quern::tree
