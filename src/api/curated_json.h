// JSON of episodes, clips and feeds, as lists show them. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "research/curation.h"
#include "research/result.h"

namespace quern::api {

// "2026-11-16T16:20:01.250000Z".
std::string rfc3339(std::int64_t us);

// id, kind, title, description, url, source, collection, priority, date_aired,
// initial_date_curated, last_date_curated, media, problem, file, media_type, bytes, duration_ns,
// metadata, sha256, job; number of clips.
boost::json::object to_json(const research::Curated& curated);
// feed, kind, collection, url, title, priority, checked, next, failures, problem.
boost::json::object to_json(const research::FeedRow& feed);
// what, url, page, ended, found, changed, left_out, problem.
boost::json::object to_json(const research::SourceRow& source);
// clip or episode with its title, offsets, date, error.
boost::json::object finding_json(const research::ResultRow& result, research::Kind of);

}  // namespace quern::api
