// PackBuilder: makes a segment, one SQLite file with FTS5, from documents that come in any order.
//
// Guarantee: a pack that finish() has made is complete and never changes; until then there is only
// a file that nobody opens. Memory does not grow with the documents: they are staged in a file of
// their own and sorted by SQLite.
//
// A pack is ordered by day: the rowid of a document is its place in time (those without a day come
// first), so that ranges of days are ranges of rowids.
//
// Threads: one at a time. It blocks.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace quern::search {

class Pack;
class Mask;

// A document without a day.
inline constexpr std::int32_t kNoDay = INT32_MIN;

struct PackDocument {
  std::int64_t file = 0;  // its id; unique in a pack
  std::int64_t job = 0;
  std::string title;     // empty: none
  std::string filename;  // with its path: "leak/mails/a.eml/report.docx"
  std::string author;
  std::string from;
  std::string url;            // of a page
  std::string type;           // MIME, of what was added
  std::int32_t day = kNoDay;  // since 1970
  std::int64_t page = 0;      // of a document that is one page of a file; 0: it is not
  std::string text;
  std::vector<std::uint32_t>
      page_ends;  // bytes of the text up to the end of each page; may be empty
};

struct PackInfo {
  std::string digest;  // SHA-256 of the file, in hex
  std::int64_t file_bytes = 0;
  std::int64_t documents = 0;
  std::int64_t text_bytes = 0;
  std::int64_t file_min = 0;  // of the documents' ids
  std::int64_t file_max = 0;
};

class PackBuilder {
 public:
  // `path` is made (and path + ".stage" while it lasts); what is there is replaced. Where
  // `stopping` becomes true (from any thread), whatever is under way ends soon, with Canceled.
  static Result<PackBuilder> create(const std::filesystem::path& path,
                                    const std::atomic<bool>* stopping = nullptr);
  ~PackBuilder();  // removes what was not finished
  PackBuilder(PackBuilder&&) noexcept;

  Result<> add(const PackDocument& document);
  // Every document of another pack that is not masked. Texts are copied as they are.
  Result<> add_all(const Pack& pack, const Mask* mask);
  std::int64_t documents() const;
  // Sorts, indexes, ranks, syncs the file and takes its digest. Nothing can be added any more.
  Result<PackInfo> finish();

 private:
  struct State;
  explicit PackBuilder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quern::search
