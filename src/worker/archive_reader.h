// ArchiveReader: the members of an archive, one after the other, whatever its format.
//
// Formats are named one by one: "all" would take any text for an mtree. A compressed file that
// holds no archive is an archive of one member; so is a compressed zip (or any format that is not
// made to be compressed as a whole): it is taken apart in the next generation.
//
// For use in the box: libarchive reads hostile bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/limits.h"
#include "worker/step.h"

struct archive;
struct archive_entry;

namespace quern::worker {

// For people.
inline constexpr char kOpensWithPassword[] =
    "it opens with a password only: open it with that, and add what is in it";

enum class MemberKind { File, Folder, Link, Other };

struct Member {
  MemberKind kind = MemberKind::File;
  std::string raw_name;  // as stored, in whatever charset
  bool encrypted = false;
};

class ArchiveReader {
 public:
  // The failure where it is no archive, or one that opens with a password only.
  static std::optional<Failure> open(const StepInput& input,
                                     std::unique_ptr<ArchiveReader>& reader);
  ~ArchiveReader();

  enum class Next { Member, End, Failed };
  // Failed: nothing more can be read; failure() tells why.
  Next next(Member& member);

  enum class Data { Bytes, End, Damaged, Failed };
  struct Block {
    std::string_view bytes;
    std::uint64_t offset = 0;  // within the member; what lies before is zeros
  };
  // Damaged: this member is; failure() tells why, the next ones may be well. Failed: as above.
  Data read(Block& block);

  const Failure& failure() const { return failure_; }
  // Whether the member has no name of its own: the only one of a compressed file.
  bool is_single() const { return single_; }
  // Of the input, so far.
  std::uint64_t position() const;

  // The raw names of all members, as far as that is cheap; at most so many.
  static std::vector<std::string> list_names(const StepInput& input, std::size_t names_max);

 private:
  enum class Mode { Archives, Single };
  struct Source;

  ArchiveReader(const StepInput& input, Mode mode);
  Next first();
  Next header();
  bool holds_archive_in_archive() const;
  void keep_failure();

  Mode mode_;
  std::unique_ptr<Source> source_;
  struct archive* archive_;
  struct archive_entry* entry_ = nullptr;
  Failure failure_;
  Next first_ = Next::End;
  bool first_pending_ = true;
  bool single_ = false;
  bool damaged_ = false;
};

}  // namespace quern::worker
