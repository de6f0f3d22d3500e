#include "api/research_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>

#include "api/request.h"
#include "io/clock.h"

namespace quern::api {
namespace json = boost::json;
namespace {

using research::CuratedId;

json::object media_json(const research::Curated& media, const std::string& base) {
  return {{"id", media.id},
          {"title", media.title},
          {"description", media.description},
          {"url", fmt::format("{}/research/media/{}", base, media.id)},
          {"media_type", media.content_type},
          {"priority", media.priority},
          {"date_aired", media.aired},
          {"initial_date_curated", io::utc_text(media.initial_us)},
          {"last_date_curated", io::utc_text(media.latest_us)},
          {"duration_ns", media.duration_ns},
          {"sha256", media.sha256},
          {"bytes", media.bytes}};
}

Result<CuratedId> parse_id(std::string_view text) {
  CuratedId id = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (failed != std::errc{} || end != text.data() + text.size() || id <= 0) {
    return Error{Errc::Invalid, "'after' is a place as 'next' gave it: EPISODE-CLIP"};
  }
  return id;
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '/' || c == '-' || c == '.' ||
         c == '+';
}

}  // namespace

json::object item_json(const research::WorkItem& item, const ItemJson& about) {
  json::object out{{"lease_id", item.lease.id},
                   {"expires", io::utc_text(item.lease.expires_us)},
                   {"lease_ms", about.lease_ms},
                   {"algorithm", about.algorithm},
                   {"fingerprint_version", about.fingerprint_version}};
  json::object episode = media_json(item.episode, about.base);
  episode["fingerprint"] = nullptr;
  if (about.indexed) {
    episode["fingerprint"] = fmt::format("{}/research/fingerprints/{}?version={}", about.base,
                                         item.episode.id, about.fingerprint_version);
  }
  out["episode"] = std::move(episode);
  json::array clips;
  for (const research::Curated& clip : item.clips) {
    json::object one = media_json(clip, about.base);
    one["number"] = clip.number;
    clips.push_back(std::move(one));
  }
  out["clips"] = std::move(clips);
  return out;
}

json::object to_json(const research::Reported& reported) {
  json::object out{
      {"stored", reported.stored}, {"extended", reported.extended}, {"revoked", reported.revoked}};
  if (reported.extended) out["expires"] = io::utc_text(reported.expires_us);
  return out;
}

json::object to_json(const research::ResearchStatus& status) {
  return {{"researchers", status.researchers},
          {"waiting", status.waiting},
          {"taken", status.taken},
          {"episodes", status.episodes},
          {"clips", status.clips},
          {"fetching", status.fetching},
          {"media_failed", status.media_failed},
          {"results", status.results},
          {"found", status.found},
          {"failed", status.failed},
          {"dead_letters", status.dead_letters},
          {"nothing_open", status.nothing_open},
          {"idle", status.idle}};
}

json::object to_json(const research::ResultRow& row) {
  json::array offsets;
  for (const research::Finding& at : row.found) {
    offsets.push_back(json::object{{"offset_ns", at.offset_ns}, {"score", at.score}});
  }
  return {{"episode", row.episode},
          {"episode_title", row.episode_title},
          {"clip", row.clip},
          {"clip_title", row.clip_title},
          {"date", io::utc_text(row.date_us)},
          {"algorithm", row.algorithm},
          {"found", !row.found.empty()},
          {"offsets", std::move(offsets)},
          {"clip_duration_ns", row.clip_duration_ns},
          {"error", row.error}};
}

std::string finding_cursor(const research::ResultRow& row) {
  return fmt::format("{}-{}", row.episode, row.clip);
}

Result<std::pair<CuratedId, CuratedId>> parse_finding_cursor(std::string_view text) {
  if (text.empty()) return std::pair<CuratedId, CuratedId>{0, 0};
  const std::size_t dash = std::min(text.find('-'), text.size());
  TRY_ASSIGN(const CuratedId episode, parse_id(text.substr(0, dash)));
  TRY_ASSIGN(const CuratedId clip, parse_id(text.substr(std::min(dash + 1, text.size()))));
  return std::pair<CuratedId, CuratedId>{episode, clip};
}

Result<WorkQuestion> parse_work_question(std::string_view body) {
  WorkQuestion question;
  TRY_ASSIGN(const json::object object, parse_object(body));
  for (const auto& member : object) {
    const std::string_view key = member.key();
    if (key == "researcher" && member.value().is_string()) {
      question.researcher = json::value_to<std::string>(member.value());
      continue;
    }
    boost::system::error_code failed;
    const auto wait_ms =
        key == "wait_ms" ? member.value().to_number<std::int64_t>(failed) : std::int64_t{-1};
    if (failed || wait_ms < 0) {
      return Error{Errc::Invalid, R"(expected {"researcher":"NAME","wait_ms":N}, both optional)"};
    }
    question.wait_ms = std::min(wait_ms, research::kPollMsMax);
  }
  return question;
}

std::string media_type_to_serve(std::string_view stored) {
  const bool plays = stored.starts_with("audio/") || stored.starts_with("video/");
  if (plays && std::all_of(stored.begin(), stored.end(), is_plain)) return std::string(stored);
  return "application/octet-stream";
}

}  // namespace quern::api
