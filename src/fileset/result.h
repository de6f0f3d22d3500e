// The result of a request: the published object, field for field, with its keys in order. Pure.
//
// Strict results are those that the original gave, its slips included: file_meta of a single file
// is a list of one, a single file in an item of archive.org has no metadata, and bundles are not
// described. The default says what was meant.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "fileset/keeping.h"
#include "fileset/request.h"

namespace quern::fileset {

inline constexpr std::size_t kErrorMessageBytesMax = 1600;
// A manifest that is longer than the first is shown up to the second.
inline constexpr std::size_t kManifestShownWhole = 10'000;
inline constexpr std::size_t kManifestCutTo = 200;

// Where a request has led, and what stands in the result of it whatever comes later.
struct Landed {
  std::vector<std::string> hops;
  std::optional<Capture> capture;  // of the page, or of what little is known of it
  bool accepted = false;           // its body: then its metadata counts
  boost::json::object html_biblio;
};
boost::json::object to_json(const Landed& landed);
Result<Landed> parse_landed(const boost::json::value& value);

boost::json::object to_json(const Capture& capture);
Result<Capture> parse_capture(const boost::json::value& value);

// A file, or the bundle, as far as it got.
struct FileOutcome {
  ManifestFile file;               // with what was found out
  std::optional<Capture> capture;  // of web-*
  std::string message;
};

struct ResultParts {
  const Request& request;
  bool strict = false;
  std::string status;
  std::string message;
  Landed landed;
  std::optional<PlatformItem> item;
  std::string strategy;
  std::vector<FileOutcome> files;  // in order, where there is a strategy
  std::optional<FileOutcome> bundle;
};
boost::json::object make_result(const ResultParts& parts);
// Of a line that is no request.
boost::json::object bad_request(const boost::json::value& given, const std::string& message);

// What else is told of a single file that was kept: as of any other file. None where it is not so.
std::optional<boost::json::object> file_result(const ResultParts& parts);

// With the keys of every object in order: as the original prints it.
std::string serialize_sorted(const boost::json::value& value);

// The first file that failed decides; else success, success-file. Files that are kept already:
// success-existing where all are.
std::string overall_status(const std::vector<FileOutcome>& files, const std::string& strategy);
bool is_kept(std::string_view file_status);
bool is_single(std::string_view strategy);   // "…-file"
bool is_bundled(std::string_view strategy);  // "…-bundled"
bool is_item(std::string_view strategy);     // "archiveorg-…"

}  // namespace quern::fileset
