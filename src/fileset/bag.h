// BagWriter: files as a bag (BagIt 1.0, RFC 8493), which any archive can take and verify.
//
//   bagit.txt, bag-info.txt
//   manifest-{md5,sha256,sha512}.txt      of every file below data/
//   tagmanifest-{md5,sha256,sha512}.txt   of everything else
//   data/ro-crate-metadata.json           what they are, for programs (fileset/crate.h)
//   data/datasets/NAME/…                  the files of a dataset, as it names them
//   data/files/…                          files of no dataset
//   provenance/…                          how they came
//
// As Plain the files alone, without data/. Digests are made of the bytes as they are written, and
// compared with what is known of a file: a bag never vouches for bytes that are not the dataset's.
//
// Memory: 16 bytes a file, one dataset, and buffers; lists wait in nameless files beside `out`.
// Threads: one at a time. Blocks on the disk. After an error only destruction is left, and there is
// nothing called `out` (fileset/bag_sink.h).
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fileset/crate.h"

namespace quern::fileset {

enum class BagKind { Bag, Plain };

struct BagOrder {
  std::filesystem::path out;  // absolute; a folder, or a file that ends in .zip
  BagKind kind = BagKind::Bag;
  std::string collection;
  std::string organization;  // may be empty
  std::string software;
  std::int64_t now_us = 0;
};

struct BagDataset {
  std::string name;  // of its folder: "zenodo-1028059"
  std::string title;
  std::string identifier;
  std::string url;
  std::string description;
  std::string fetched;
  std::string status;
};

// What is known of a file; empty text and a negative size: nothing.
struct BagFile {
  std::string path;
  std::int64_t bytes = -1;
  std::string md5;  // hex
  std::string sha256;
  std::string type;
  std::string url;
};

struct BagSums {
  std::int64_t datasets = 0;
  std::int64_t files = 0;  // of datasets and others, without the crate's own
  std::int64_t bytes = 0;
};

class BagWriter {
 public:
  static Result<BagWriter> create(BagOrder order);
  ~BagWriter();
  BagWriter(BagWriter&&) noexcept;

  Result<> begin_dataset(const BagDataset& dataset);
  Result<> end_dataset();
  Result<> begin_file(const BagFile& file);
  Result<> add(std::string_view bytes);
  // Corrupt where the bytes are not those that are known.
  Result<> end_file();
  // A file of provenance/, where it is a bag.
  Result<> add_provenance(const std::string& name, std::string_view text);
  // Once, and last: all of it is there under its name.
  Result<BagSums> finish();

 private:
  class Core;
  explicit BagWriter(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

}  // namespace quern::fileset
