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

// As take_varint(), for numbers of 32 bits, and fast where they are small.
inline bool take_small(const unsigned char*& at, const unsigned char* end, std::uint64_t& number) {
  if (at == end) return false;
  number = *at++;
  if (number < 0x80) return true;
  number &= 0x7F;
  for (int shift = 7; shift < 35 && at != end; shift += 7) {
    const std::uint64_t byte = *at++;
    number |= (byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

Error damaged_list() {
  return {Errc::Corrupt, "pack: a list is damaged"};
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
  const std::size_t begin = block == 0 ? 0 : end(block - 1);
  const std::size_t stop = end(block);
  if (begin > stop || stop > data_.size()) return false;
  std::uint64_t row = block == 0 ? 0 : last_row(block - 1);
  const std::size_t size = block + 1 < blocks_ ? kBlockRows : rows_ - block * kBlockRows;
  const auto* at = reinterpret_cast<const unsigned char*>(data_.data()) + begin;
  const auto* const behind = at + (stop - begin);
  for (std::size_t i = 0; i < size; ++i) {
    std::uint64_t number = 0;
    if (!take_small(at, behind, number) || number < 2) return false;
    row += number >> 1;
    if (row > documents_) return false;
    std::uint32_t weight = 1;
    if ((number & 1) != 0) {
      if (at == behind) return false;
      weight = *at++;
    }
    block_[i] = {static_cast<std::uint32_t>(row), weight};
  }
  loaded_ = block;
  size_ = size;
  return at == behind && row == last_row(block);
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

void put_spots(std::string& block, const std::vector<Spot>& spots) {
  std::string bytes;
  Spot before = 0;
  for (const Spot spot : spots) {
    const bool moved = (spot >> kSpotBits) != (before >> kSpotBits);
    const Spot from = moved ? (spot >> kSpotBits) << kSpotBits : before;
    put_varint(bytes, ((spot - from) << 1) | (moved ? 1 : 0));
    if (moved) bytes += static_cast<char>(spot >> kSpotBits);
    before = spot;
  }
  put_varint(block, bytes.size());
  block += bytes;
}

Result<> take_spots(std::string_view block, std::size_t place, std::vector<Spot>& spots) {
  spots.clear();
  std::size_t at = 0;
  std::uint64_t size = 0;
  for (std::size_t i = 0; i <= place; ++i) {
    if (!take_varint(block, at, size) || size > block.size() - at) return damaged_list();
    if (i < place) at += size;
  }
  const std::string_view bytes = block.substr(at, size);
  Spot spot = 0;
  for (at = 0; at < bytes.size();) {
    std::uint64_t number = 0;
    if (!take_varint(bytes, at, number) || number > UINT32_MAX) return damaged_list();
    if ((number & 1) != 0) {
      if (at == bytes.size()) return damaged_list();
      spot = static_cast<Spot>(static_cast<unsigned char>(bytes[at++])) << kSpotBits;
    }
    spot += number >> 1;
    spots.push_back(spot);
  }
  return {};
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
