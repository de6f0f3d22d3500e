#include "search/list.h"

#include <algorithm>
#include <cstring>

#include "search/codec.h"

namespace quern::search {
namespace {

constexpr std::size_t kHeader = 4;
constexpr std::size_t kBlockHeader = 8;

void put_u32(std::string& into, std::size_t number) {
  const auto narrow = static_cast<std::uint32_t>(number);
  char bytes[4];
  std::memcpy(bytes, &narrow, sizeof bytes);
  into.append(bytes, sizeof bytes);
}

std::uint32_t u32_at(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

}  // namespace

std::string write_list(const std::vector<Posting>& postings) {
  std::string header;
  std::string data;
  put_u32(header, postings.size());
  std::uint32_t before = 0;
  for (std::size_t i = 0; i < postings.size(); ++i) {
    const Posting& posting = postings[i];
    const bool heavy = posting.weight != 1;
    put_varint(data, (static_cast<std::uint64_t>(posting.row - before) << 1) | (heavy ? 1 : 0));
    if (heavy) data += static_cast<char>(posting.weight);
    before = posting.row;
    if ((i + 1) % kBlockRows != 0 && i + 1 != postings.size()) continue;
    put_u32(header, posting.row);
    put_u32(header, data.size());
  }
  return header + data;
}

Result<ListCursor> ListCursor::open(std::string_view bytes, std::uint32_t documents) {
  const Error damaged(Errc::Corrupt, "pack: a list is damaged");
  if (bytes.size() < kHeader) return damaged;
  const std::uint32_t rows = u32_at(bytes, 0);
  const std::size_t blocks = (rows + kBlockRows - 1) / kBlockRows;
  if (rows > documents || bytes.size() - kHeader < blocks * kBlockHeader) return damaged;
  ListCursor cursor(bytes, documents, rows);
  cursor.blocks_ = blocks;
  cursor.data_ = bytes.substr(kHeader + blocks * kBlockHeader);
  return cursor;
}

std::uint32_t ListCursor::last_row(std::size_t block) const {
  return u32_at(bytes_, kHeader + block * kBlockHeader);
}

std::uint32_t ListCursor::end(std::size_t block) const {
  return u32_at(bytes_, kHeader + block * kBlockHeader + 4);
}

// The first whose last row is not before it. From where we are in growing leaps: most seeks are
// near.
std::size_t ListCursor::block_with(std::uint32_t row) const {
  std::size_t from = 0;
  if (loaded_ != SIZE_MAX && loaded_ < blocks_ && last_row(loaded_) < row) from = loaded_ + 1;
  std::size_t leap = 1;
  std::size_t to = from;
  while (to < blocks_ && last_row(to) < row) {
    from = to + 1;
    to += leap;
    leap *= 2;
  }
  to = std::min(to, blocks_);
  while (from < to) {
    const std::size_t middle = from + (to - from) / 2;
    if (last_row(middle) < row) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from;
}

bool ListCursor::load(std::size_t block) {
  std::size_t at = block == 0 ? 0 : end(block - 1);
  const std::size_t stop = end(block);
  std::uint64_t row = block == 0 ? 0 : last_row(block - 1);
  const std::size_t size = block + 1 < blocks_ ? kBlockRows : rows_ - block * kBlockRows;
  if (at > stop || stop > data_.size()) return false;
  const std::string_view data = data_.substr(0, stop);
  for (std::size_t i = 0; i < size; ++i) {
    std::uint64_t number = 0;
    if (!take_varint(data, at, number) || number < 2) return false;
    row += number >> 1;
    if (number > UINT32_MAX || row > documents_) return false;
    std::uint32_t weight = 1;
    if ((number & 1) != 0) {
      if (at >= stop) return false;
      weight = static_cast<unsigned char>(data[at++]);
    }
    block_[i] = {static_cast<std::uint32_t>(row), weight};
  }
  loaded_ = block;
  size_ = size;
  return at == stop && row == last_row(block);
}

std::uint32_t ListCursor::seek(std::uint32_t row) {
  if (damaged_) return kNoRow;
  const bool here = loaded_ != SIZE_MAX && row <= block_[size_ - 1].row &&
                    (loaded_ == 0 || row > last_row(loaded_ - 1));
  if (!here) {
    const std::size_t block = block_with(row);
    if (block >= blocks_) return kNoRow;
    if (!load(block) || block_[size_ - 1].row < row) {
      damaged_ = true;
      loaded_ = SIZE_MAX;
      return kNoRow;
    }
    at_ = 0;
  } else if (block_[at_].row > row) {
    at_ = 0;
  }
  while (block_[at_].row < row) ++at_;
  return block_[at_].row;
}

Result<std::vector<Posting>> read_list(std::string_view bytes, std::uint32_t documents) {
  TRY_ASSIGN(ListCursor cursor, ListCursor::open(bytes, documents));
  std::vector<Posting> postings;
  postings.reserve(cursor.rows());
  for (std::uint32_t row = cursor.seek(1); row != kNoRow; row = cursor.seek(row + 1)) {
    postings.push_back({row, cursor.weight()});
  }
  if (cursor.damaged()) return Error{Errc::Corrupt, "pack: a list is damaged"};
  return postings;
}

}  // namespace quern::search
