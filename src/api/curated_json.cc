#include "api/curated_json.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <boost/json.hpp>

namespace quern::api {

namespace json = boost::json;

std::string rfc3339(std::int64_t us) {
  const std::int64_t second = us >= 0 ? us / 1'000'000 : (us - 999'999) / 1'000'000;
  const std::time_t whole = second;
  std::tm parts{};
  ::gmtime_r(&whole, &parts);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", parts, us - second * 1'000'000);
}

json::object to_json(const research::Curated& curated) {
  json::object out{{"id", curated.id},
                   {"kind", std::string(to_string(curated.kind))},
                   {"title", curated.title},
                   {"description", curated.description},
                   {"url", curated.url},
                   {"source", curated.source},
                   {"collection", curated.collection},
                   {"priority", curated.priority},
                   {"date_aired", curated.aired},
                   {"initial_date_curated", rfc3339(curated.initial_us)},
                   {"last_date_curated", rfc3339(curated.latest_us)},
                   {"media", std::string(to_string(curated.media))},
                   {"problem", curated.problem},
                   {"file", nullptr},
                   {"media_type", curated.content_type},
                   {"bytes", curated.bytes},
                   {"sha256", curated.sha256},
                   {"duration_ns", curated.duration_ns},
                   {"metadata", curated.metadata},
                   {"job", curated.job.value}};
  if (curated.file) out["file"] = curated.file->value;
  if (curated.kind == research::Kind::Clip) out["number"] = curated.number;
  return out;
}

json::object to_json(const research::FeedRow& feed) {
  json::object out{{"feed", feed.id.value},
                   {"kind", std::string(to_string(feed.kind))},
                   {"collection", feed.collection},
                   {"url", feed.url},
                   {"title", feed.title},
                   {"priority", feed.priority},
                   {"checked", nullptr},
                   {"next", rfc3339(feed.next_us)},
                   {"failures", feed.failures},
                   {"problem", feed.problem}};
  if (feed.checked_us) out["checked"] = rfc3339(*feed.checked_us);
  return out;
}

json::object to_json(const research::SourceRow& source) {
  const bool feed = source.source.what == research::SourceKind::Feed || source.feed.has_value();
  json::object out{{"what", feed ? "feed" : "address"},
                   {"url", source.source.url},
                   {"page", source.page},
                   {"ended", source.ended},
                   {"found", source.found},
                   {"changed", source.changed},
                   {"left_out", source.left_out},
                   {"problem", source.problem}};
  if (source.feed) out["feed"] = source.feed->value;
  return out;
}

json::object finding_json(const research::ResultRow& result, research::Kind of) {
  json::object out;
  if (of == research::Kind::Episode) {
    out["clip"] = result.clip;
    out["clip_title"] = result.clip_title;
  } else {
    out["episode"] = result.episode;
    out["episode_title"] = result.episode_title;
  }
  json::array& offsets = out["offsets"].emplace_array();
  for (const research::Finding& found : result.found) {
    offsets.push_back(json::object{{"offset_ns", found.offset_ns}, {"score", found.score}});
  }
  out["clip_duration_ns"] = result.clip_duration_ns;
  out["date"] = rfc3339(result.date_us);
  out["error"] = result.error;
  return out;
}

}  // namespace quern::api
