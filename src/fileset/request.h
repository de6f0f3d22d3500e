// Request: what somebody asks for, in the published form of ingest requests, and how it is to be
// done. docs/datasets.md lists the fields.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace quern::fileset {

inline constexpr std::size_t kBaseUrlBytesMax = 2048;
inline constexpr std::size_t kRequestBytesMax = 64 * 1024;
inline constexpr char kDataset[] = "dataset";

struct Request {
  boost::json::object raw;  // echoed as it came
  std::string ingest_type;
  std::string base_url;   // as it came
  std::string clean_url;  // to be fetched
  std::string link_source;
  std::string link_source_id;
  std::string ingest_request_source;
  std::string release_stage;
  bool force_recrawl = false;
};
// Invalid, with the field and what it must be. Fields that are unknown are kept. What the request
// says of NUL characters is left out: no store holds them.
Result<Request> parse_request(const boost::json::value& value);
Result<Request> parse_request_text(std::string_view text);
// The request of an address, or of a DOI, alone.
boost::json::object request_of(std::string_view url);

// "https://host:/a" and "HTTP://HOST/a" become what is asked for; Invalid where it is no address.
Result<std::string> clean_base_url(std::string_view text);

// How a request is done.
struct RequestOptions {
  bool strict = false;         // as the original, slips and all
  bool ingest = false;         // verified files become searchable
  bool bundle = false;         // one enclosing file instead of many, where the platform has one
  bool force_recrawl = false;  // beside the request's own
  std::string strategy;        // by name; empty: by the rules
  std::int64_t files_max = 200;
  std::int64_t bytes_max = 64LL << 30;

  friend bool operator==(const RequestOptions&, const RequestOptions&) = default;
};
boost::json::object to_json(const RequestOptions& options);
// Invalid where a field is unknown, of another type or out of range. `defaults`: of the server.
Result<RequestOptions> parse_options(const boost::json::object& object,
                                     const RequestOptions& defaults);
bool is_strategy(std::string_view name);

// Without NUL characters, in keys and values, however deep.
boost::json::value without_nul(boost::json::value value);

}  // namespace quern::fileset
