// Pack: an opened segment, immutable, read by any number of threads.
//
// Answers are of one segment. What is the same for all segments of a search (frequencies, lengths)
// is given with each question, so that scores of different segments compare.
//
// Guarantee: a damaged or hostile file gives an error, never a crash or a wrong read. At most
// kCandidatesMax documents are scored for a question; where more match, the best of the common
// words (champions, chosen when the pack was built) come first and the total is "at least".
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "search/pack_builder.h"
#include "search/query.h"

namespace quern::search {

inline constexpr std::size_t kCandidatesMax = 10'000;

// Documents of a pack that are gone or were replaced: a bit for each rowid.
class Mask {
 public:
  explicit Mask(std::size_t documents = 0) : bits_((documents + 7) / 8, '\0') {}
  // As to_bytes() gave it.
  static Mask from_bytes(std::string bytes) {
    Mask mask;
    mask.bits_ = std::move(bytes);
    return mask;
  }
  void set(std::uint32_t row) {
    const std::size_t at = (row - 1) / 8;
    if (row > 0 && at < bits_.size()) bits_[at] |= static_cast<char>(1U << ((row - 1) % 8));
  }
  bool has(std::uint32_t row) const {
    const std::size_t at = (row - 1) / 8;
    return row > 0 && at < bits_.size() && ((bits_[at] >> ((row - 1) % 8)) & 1) != 0;
  }
  std::int64_t count() const;
  const std::string& to_bytes() const { return bits_; }

 private:
  std::string bits_;
};

// Of all segments that are searched together: sums of what each one says.
struct Frequencies {
  std::int64_t documents = 0;
  std::int64_t length = 0;                       // tokens of all documents
  std::map<std::string, std::int64_t> by_token;  // documents that have it
  void add(const Frequencies& other);
};

enum class Sort : std::uint8_t { Relevance, Newest, Oldest };

// The place of a hit in its order, the same in every run: by score or day, then by tie, then by
// file.
struct Place {
  double score = 0;
  std::int32_t day = kNoDay;
  std::uint32_t tie = 0;  // of its filename and page
  std::int64_t file = 0;
};
bool goes_before(Sort sort, const Place& a, const Place& b);

struct Question {
  const Query* query = nullptr;
  const Frequencies* frequencies = nullptr;
  const Mask* mask = nullptr;                 // null: nothing is masked
  std::span<const std::int64_t> hidden_jobs;  // whose documents are not shown
  // Whose are, and no others'; null: anybody's.
  const std::vector<std::int64_t>* only_jobs = nullptr;
  Sort sort = Sort::Relevance;
  std::size_t limit = 10;
  std::optional<Place> after;  // only what comes behind this
  bool facets = false;
};

struct Found {
  Place place;
  std::uint32_t row = 0;
};

struct Answer {
  std::vector<Found> found;  // in order, at most `limit`
  std::int64_t total = 0;
  bool exact = true;
  // Of the documents that were looked at.
  std::map<std::string, std::int64_t> types;  // MIME
  std::map<std::int32_t, std::int64_t> years;
};

// What is shown of a hit.
struct Hit {
  std::int64_t file = 0;
  std::string title;
  std::string filename;
  std::string url;
  std::string type;
  std::int32_t day = kNoDay;
  std::int64_t page = 0;  // of the shown hit; 0: unknown
  std::string snippet;    // search/snippet.h
};

struct Suggestion {
  std::string word;
  std::int64_t documents = 0;
};

class Highlighter;

class Pack {
 public:
  // Corrupt where it is no pack, or one of another format. `digest` is not looked at here.
  static Result<std::shared_ptr<Pack>> open(const std::filesystem::path& path);
  ~Pack();

  std::int64_t documents() const;
  // For these tokens, of the whole pack. Masked ones count: they are few, and go with the next
  // merge.
  Result<Frequencies> frequencies(std::span<const std::string> tokens) const;
  Result<Answer> search(const Question& question) const;
  Result<Hit> show(std::uint32_t row, Highlighter& highlighter) const;
  // Words with that beginning (folded), the most frequent first.
  Result<std::vector<Suggestion>> suggest(const std::string& beginning, std::size_t limit) const;
  // The rows of documents, for masking. Missing ones are left out.
  Result<std::vector<std::uint32_t>> rows_of_files(std::span<const std::int64_t> files) const;
  Result<std::vector<std::uint32_t>> rows_of_job(std::int64_t job) const;
  // The document of a row; 0 where there is none.
  std::int64_t file_of(std::uint32_t row) const;

  struct State;  // for the inside of search

 private:
  friend class PackBuilder;
  explicit Pack(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quern::search
