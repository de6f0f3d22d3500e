// What research says and is told, as JSON. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "research/lease.h"
#include "research/result.h"

namespace quern::api {

// Of /research/work. The addresses begin with `base`; `indexed`: the server has the episode's
// fingerprint of this version.
struct ItemJson {
  std::string base;
  std::int64_t lease_ms = 0;
  std::int64_t algorithm = 0;
  std::int64_t fingerprint_version = 0;
  bool indexed = false;
};
boost::json::object item_json(const research::WorkItem& item, const ItemJson& about);

boost::json::object to_json(const research::Reported& reported);
boost::json::object to_json(const research::ResearchStatus& status);
boost::json::object to_json(const research::ResultRow& row);

// The place in a list of findings: "12-7" is episode 12, clip 7. Invalid where it is none.
std::string finding_cursor(const research::ResultRow& row);
Result<std::pair<research::CuratedId, research::CuratedId>> parse_finding_cursor(
    std::string_view text);

// What {"researcher":…, "wait_ms":…} asks for; an empty body asks for nothing.
struct WorkQuestion {
  std::string researcher;
  std::int64_t wait_ms = 30'000;
};
Result<WorkQuestion> parse_work_question(std::string_view body);

// What media is served as: sound and pictures that move as what they are, anything else as bytes,
// since a browser might run it.
std::string media_type_to_serve(std::string_view stored);

}  // namespace quern::api
