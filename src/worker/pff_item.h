// libpff's items with owners: an Outlook store (.pst, .ost), its folders and what lies in them.
//
// For use in the box: libpff reads hostile bytes. Threads: one.
#pragma once

#include <libbfio.h>
#include <libpff.h>

#include <memory>
#include <optional>
#include <vector>

#include "worker/mapi.h"
#include "worker/step.h"

namespace quern::worker {

using PffItem = std::shared_ptr<libpff_item_t>;
PffItem pff_owned(libpff_item_t* item);

// The file, read by a descriptor: a box has no names to open.
class PffFile {
 public:
  PffFile();
  ~PffFile();
  PffFile(const PffFile&) = delete;
  PffFile& operator=(const PffFile&) = delete;

  std::optional<Failure> open(const StepInput& input);
  PffItem root_folder() const;
  // The folder that people call the top: what they see is below it. 0 where it is not told.
  std::uint32_t top_identifier() const;
  std::uint64_t codepage() const;

 private:
  struct Source;

  std::unique_ptr<Source> source_;
  libbfio_handle_t* handle_ = nullptr;
  libpff_file_t* file_ = nullptr;
};

std::uint32_t identifier_of(libpff_item_t* item);
// The properties of an item; of a table, those of each row.
MapiBag bag_of(libpff_item_t* item, std::uint64_t codepage, int row = 0);
std::vector<MapiBag> rows_of(libpff_item_t* table, std::uint64_t codepage);

}  // namespace quern::worker
