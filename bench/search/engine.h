// What is compared: something that indexes documents and answers with the ten best of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "search/pack_builder.h"

namespace quern::bench {

class Engine {
 public:
  virtual ~Engine() = default;
  virtual void add(const search::PackDocument& document) = 0;
  virtual void finish() = 0;
  // Ids of files, the best first, each with its snippet made.
  virtual std::vector<std::int64_t> search(const std::string& query) = 0;
  virtual std::uintmax_t bytes() const = 0;
};

// Our packs can be told of more documents while they are searched.
class PackEngine : public Engine {
 public:
  // Builds one more segment, which takes the place of the one that was published before.
  virtual void publish(const std::vector<search::PackDocument>& documents) = 0;
};

// Our packs, of at most so many documents each. Frequencies are those of all.
std::unique_ptr<PackEngine> make_packs(const std::filesystem::path& folder,
                                       std::int64_t documents_each);
// FTS5 as it comes: porter unicode61, bm25(), snippet(), texts in its own table.
std::unique_ptr<Engine> make_plain_fts5(const std::filesystem::path& folder);
// Xapian by its tools: scriptindex, and a quest for each query. Null where they are not installed.
std::unique_ptr<Engine> make_xapian(const std::filesystem::path& folder);

}  // namespace quern::bench
