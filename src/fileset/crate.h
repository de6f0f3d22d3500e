// CrateWriter: what a bag says of its datasets and files, for programs: RO-Crate 1.1 metadata.
//
//   the crate ("./")      Dataset with a part for each dataset, and for each file of none
//   a dataset             Dataset: name, identifier, address, its files; the CreateAction that
//                         fetched it, with the program that did
//   a file                File: name, contentSize, encodingFormat, sha256, where it came from
//
// https://www.researchobject.org/ro-crate/1.1/. Written as one goes: memory is one entity; the rest
// waits in nameless files of the spool folder. Threads: one at a time.
#pragma once

#include <boost/json.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "web/body.h"

namespace quern::fileset {

inline constexpr char kCrateFile[] = "ro-crate-metadata.json";

struct CrateOptions {
  std::filesystem::path spool;
  std::string name;      // of the collection
  std::string software;  // "quern 0.1.0"
  std::int64_t created_us = 0;
};

// Empty text: unknown.
struct CrateDataset {
  std::string folder;  // where its files lie in the crate: "datasets/zenodo-1028059"
  std::string name;
  std::string identifier;  // a DOI, or what the platform calls it
  std::string url;
  std::string description;
  std::string fetched;  // an instant as RFC 3339 has it
  std::string status;   // how the request ended
};

struct CrateFile {
  std::string path;  // in the crate
  std::string name;  // as it was called
  std::int64_t bytes = 0;
  std::string sha256;  // hex
  std::string type;
  std::string url;
};

class CrateWriter {
 public:
  explicit CrateWriter(CrateOptions options);

  // Files that follow are parts of it, until end_dataset().
  Result<> begin_dataset(CrateDataset dataset);
  Result<> add_file(const CrateFile& file);
  Result<> end_dataset();
  // The whole document. Once, and last.
  Result<web::Body> finish();

 private:
  // JSON texts with commas between them.
  class List {
   public:
    explicit List(std::filesystem::path spool) : out_(std::move(spool)) {}
    Result<> add(const boost::json::value& value);
    Result<> add_with_parts(const boost::json::object& entity, List& parts);
    Result<> copy_to(web::BodyWriter& out);

   private:
    Result<> put(std::string_view text);
    web::BodyWriter out_;
    std::string waiting_;
    bool has_some_ = false;
  };

  CrateOptions options_;
  List entities_;
  List root_parts_;
  std::optional<List> parts_;  // of the dataset under way
  CrateDataset dataset_;
  std::int64_t datasets_ = 0;
  std::int64_t files_ = 0;
};

}  // namespace quern::fileset
