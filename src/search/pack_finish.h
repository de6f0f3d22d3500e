// The second half of PackBuilder: from staged documents to a pack. Inside search only.
#pragma once

#include <atomic>
#include <filesystem>

#include "base/result.h"
#include "search/columns.h"
#include "search/pack_builder.h"

namespace quern::search {

class SqliteFile;
struct RowHits;

Result<PackInfo> finish_pack(SqliteFile& stage, const std::filesystem::path& path,
                             const std::atomic<bool>* stopping);

// Bits of words that stand in texts as they are: a stem that is no word is not suggested. Of fixed
// size, so now and then a stem passes for a word.
class RealWords {
 public:
  RealWords();
  void add(std::string_view word);
  bool may_have(std::string_view word) const;

 private:
  std::vector<std::uint64_t> bits_;
};
inline constexpr std::size_t kRealWordBits = std::size_t{1} << 23;

// Fills `term` and `begin` from the index.
Result<> write_terms(SqliteFile& pack, const RealWords& words, std::size_t documents_of_pack);
// Words of a single document are most of all words, and seldom asked for: only packs of so few
// documents count them, too, so that they are suggested there.
inline constexpr std::size_t kLoneTermsMax = 20'000;
// Fills `list` and `spot`. `hits` is what quern_weight() fills.
Result<> write_lists(SqliteFile& pack, const Columns& columns, RowHits& hits);

// Beginnings that more words share have their best ones in the table `begin`.
inline constexpr std::size_t kBeginningWordsMin = 1024;
inline constexpr std::size_t kBeginningWordsKept = 64;
inline constexpr std::size_t kBeginningBytesMax = 16;
// Places of lists of a token: one for each field, and one for all of them.
inline constexpr std::int64_t kListsOfToken = 8;

}  // namespace quern::search
