// Lists: the rows of a token that many documents have, with the weight of its hits in each.
//
// FTS5 takes about 150 ns for each row of a token; a list takes 2 ns, and leaps over what is not
// looked for. So tokens of kListRowsMin documents and more have one, and FTS5 is asked for the rest
// and for phrases.
//
//   rows u32, then for each block of kBlockRows: its last row u32, its end in the bytes u32
//   blocks: for each row the gap to the one before, doubled, odd where a byte with the weight
//   follows (otherwise it is 1)
//
// A list is read where it lies; every block is checked before it is used.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "search/fts.h"

namespace quern::search {

inline constexpr std::size_t kListRowsMin = 512;
inline constexpr std::size_t kBlockRows = 64;
// Of a list with more rows, the best ones are kept apart: its champions.
inline constexpr std::size_t kChampions = 2048;

struct Posting {
  std::uint32_t row = 0;
  std::uint32_t weight = 0;  // 1 to kWeightMax
};

inline constexpr std::uint32_t kNoRow = UINT32_MAX;

std::string write_list(const std::vector<Posting>& postings);

class ListCursor {
 public:
  // The bytes outlive it. Rows are 1 to `documents`.
  static Result<ListCursor> open(std::string_view bytes, std::uint32_t documents);

  std::uint32_t rows() const { return rows_; }
  // The first row that is not before this one; kNoRow: none, or damaged(). Backward too.
  std::uint32_t seek(std::uint32_t row);
  // Of the row that seek() gave last.
  std::uint32_t weight() const { return block_[at_].weight; }
  // Where that row stands: its block, and its place in the block.
  std::pair<std::size_t, std::size_t> place() const { return {loaded_, at_}; }
  bool damaged() const { return damaged_; }

 private:
  ListCursor(std::string_view bytes, std::uint32_t documents, std::uint32_t rows)
      : bytes_(bytes), documents_(documents), rows_(rows) {}
  std::uint32_t last_row(std::size_t block) const;
  std::uint32_t end(std::size_t block) const;
  std::size_t block_with(std::uint32_t row) const;
  bool load(std::size_t block);

  std::string_view bytes_;
  std::uint32_t documents_;
  std::uint32_t rows_;
  std::size_t blocks_ = 0;
  std::string_view data_;
  std::size_t loaded_ = SIZE_MAX;
  std::size_t size_ = 0;
  std::size_t at_ = 0;
  bool damaged_ = false;
  std::array<Posting, kBlockRows> block_;
};

// Spots of a token in the rows of a block: for each row how many bytes, then for each spot the gap
// to the one before, doubled; odd where it is in another column, which follows.
void put_spots(std::string& block, const std::vector<Spot>& spots);
Result<> take_spots(std::string_view block, std::size_t place, std::vector<Spot>& spots);

// The row of the table `spot` with a block of a list. There are fewer than 2^24 blocks.
constexpr std::int64_t spots_id(std::int64_t list, std::size_t block) {
  return (list << 24) | static_cast<std::int64_t>(block & 0xFFFFFF);
}

// All of it, for the champions.
Result<std::vector<Posting>> read_list(std::string_view bytes, std::uint32_t documents);

}  // namespace quern::search
