// OleFile: an OLE compound file (MS-CFB): folders and streams in one file, read with pread.
//
// Every chain is bounded by the number of sectors that the file has, so that loops end. For use in
// the box.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/mail_message.h"
#include "worker/step.h"

namespace quern::worker {

class OleFile {
 public:
  // The root is entry 0.
  static constexpr std::size_t kRoot = 0;
  static constexpr std::size_t kNone = ~std::size_t{0};

  // Corrupt where it is none, or one whose tables cannot be read.
  std::optional<Failure> open(const StepInput& input);

  const std::string& name(std::size_t entry) const { return entries_[entry].name; }
  bool is_folder(std::size_t entry) const { return entries_[entry].kind != Kind::Stream; }
  std::uint64_t size(std::size_t entry) const { return entries_[entry].size; }
  // In the order of the directory, which is that of their making.
  std::vector<std::size_t> children(std::size_t folder) const;
  std::size_t find(std::size_t folder, std::string_view name) const;

  std::optional<Failure> read(std::size_t stream, const ByteSink& sink) const;
  // As much as could be read, at most so much.
  std::string bytes(std::size_t stream, std::size_t bytes_max) const;

 private:
  enum class Kind { None, Folder, Stream };
  struct Entry {
    std::string name;
    Kind kind = Kind::None;
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    std::uint32_t child = 0;
    std::uint32_t start = 0;
    std::uint64_t size = 0;
  };

  std::string read_at(std::uint64_t offset, std::size_t bytes) const;
  std::string read_sector(std::uint32_t sector) const;
  bool read_table(const std::string& head);
  std::vector<std::uint32_t> chain(const std::vector<std::uint32_t>& table, std::uint32_t start,
                                   std::uint64_t sectors_max) const;
  void read_entries();
  void read_small_sectors(std::uint32_t start);

  StepInput input_;
  std::size_t sector_bytes_ = 512;
  std::uint64_t small_below_ = 4096;
  std::uint32_t directory_ = 0;
  std::vector<std::uint32_t> table_;        // the sector behind each sector
  std::vector<std::uint32_t> small_table_;  // the same of the small ones
  std::vector<std::uint32_t> small_home_;   // the sectors that hold the small ones
  std::vector<Entry> entries_;
};

// Little-endian numbers; what lies outside is 0.
std::uint64_t number_le(std::string_view bytes, std::size_t at, std::size_t width);

}  // namespace quern::worker
