// Effects: what the handler has done, in a file that survives it.
//
// Guarantee: an effect is recorded once for its key, and is on the disk before record() returns; a
// handler that was killed and started again knows them all. How: a line for each, appended and
// synced; a last line without its end was never answered for, and is cut off at the start.
//
//   KEY ITEM GATE RESULT            an effect; the key begins with the partition
//   VIOLATION KEY ITEM GATE         a call that Quern should not have made yet
//
// Key and item are as in the request's headers, percent-encoded, so they hold no blanks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "io/descriptor.h"

namespace resumes {

struct Effect {
  std::string key;
  std::string item;
  std::int64_t gate = 0;
  std::int64_t result = 0;  // the score, the rank, or whether hired
};

class Effects {
 public:
  static quern::Result<Effects> open(const std::string& path);

  // What the call with this key did, if it was made before.
  std::optional<Effect> find(const std::string& key) const;
  quern::Result<> record(const Effect& effect);
  quern::Result<> record_violation(const Effect& call);

  // The scores of a partition's classified items, by name.
  const std::map<std::string, std::int64_t>& scores(const std::string& partition);

 private:
  explicit Effects(quern::io::Descriptor file) : file_(std::move(file)) {}
  quern::Result<> append(const std::string& line);
  quern::Result<> load();
  void take_line(const std::string& line);
  void remember(const Effect& effect);

  quern::io::Descriptor file_;
  std::map<std::string, Effect> by_key_;
  std::set<std::string> violations_;
  std::map<std::string, std::map<std::string, std::int64_t>> scores_;
};

// Of a key: "PARTITION/ITEM/STEP".
std::string partition_of(const std::string& key);

}  // namespace resumes
