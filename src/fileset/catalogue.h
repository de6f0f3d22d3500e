// Catalogue: what results become in a catalogue of files and filesets. docs/datasets.md has the
// rules. Pure.
//
// A fileset: a hit (success, success-existing) of a *-fileset* strategy with more than one file. A
// file: a result of type dataset-file, whatever its mimetype, or a hit of a *-file strategy with
// one file. Filesets with the same set of SHA-1 are one, and so are files with the same SHA-1.
#pragma once

#include <boost/json.hpp>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace quern::fileset {

inline constexpr std::size_t kCatalogueFilesMax = 300;  // of a fileset
inline constexpr std::size_t kResultLineBytesMax = 32 * 1024 * 1024;

class Catalogue {
 public:
  struct Entity {
    std::string kind;            // "file", "fileset"; empty: left out
    std::string skipped;         // why: "skip-single-file", "skip-in-queue", …
    boost::json::object entity;  // with sorted keys
  };
  // A line of JSON: a result.
  Entity take(std::string_view line);
  // How many lines ended how: "insert-file", "insert-fileset", and the reasons to skip.
  const std::map<std::string, int>& counts() const { return counts_; }

 private:
  Entity judge(const boost::json::object& result);
  Entity fileset_of(const boost::json::object& result);
  Entity file_of(const boost::json::object& result);
  Entity single_of(const boost::json::object& result);

  std::set<std::string> files_;     // SHA-1
  std::set<std::string> filesets_;  // SHA-1 of all files, sorted
  std::map<std::string, int> counts_;
};

}  // namespace quern::fileset
