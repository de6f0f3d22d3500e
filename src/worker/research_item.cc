#include "worker/research_item.h"

#include <boost/json.hpp>

#include "worker/line.h"

namespace quern::worker {
namespace json = boost::json;
namespace {

Error wrong(std::string_view what) {
  return Error{Errc::Invalid, "the item of work has no good '" + std::string(what) + "'"};
}

Result<std::string> text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_string()) return wrong(key);
  return json::value_to<std::string>(*value);
}

Result<std::int64_t> number_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr) return wrong(key);
  boost::system::error_code failed;
  const auto number = value->to_number<std::int64_t>(failed);
  if (failed || number < 0) return wrong(key);
  return number;
}

// Whatever the URL's host is called: it is the server that was asked, and nobody else gets our
// token.
Result<std::string> target_of(std::string_view url) {
  TRY_ASSIGN(const Address address, parse_address(url));
  if (address.target.empty()) return wrong("url");
  return address.target;
}

Result<ResearchMedia> media_of(const json::value& value) {
  if (!value.is_object()) return wrong("episode or clip");
  const json::object& object = value.get_object();
  ResearchMedia media;
  TRY_ASSIGN(media.id, number_of(object, "id"));
  TRY_ASSIGN(const std::string url, text_of(object, "url"));
  TRY_ASSIGN(media.target, target_of(url));
  TRY_ASSIGN(media.sha256, text_of(object, "sha256"));
  TRY_ASSIGN(const std::int64_t bytes, number_of(object, "bytes"));
  media.bytes = static_cast<std::uint64_t>(bytes);
  if (object.contains("number")) {
    TRY_ASSIGN(media.number, number_of(object, "number"));
  }
  return media;
}

json::object about(const ResearchItem& item) {
  return {{"lease_id", item.lease_id}, {"episode", item.episode.id}};
}

}  // namespace

Result<ResearchItem> parse_research_item(std::string_view text) {
  boost::system::error_code failed;
  const json::value parsed = json::parse(text, failed);
  if (failed || !parsed.is_object()) return Error{Errc::Invalid, "the item of work is no object"};
  const json::object& object = parsed.get_object();
  ResearchItem item;
  TRY_ASSIGN(item.lease_id, text_of(object, "lease_id"));
  TRY_ASSIGN(item.lease_ms, number_of(object, "lease_ms"));
  TRY_ASSIGN(item.algorithm, number_of(object, "algorithm"));
  TRY_ASSIGN(item.fingerprint_version, number_of(object, "fingerprint_version"));
  const json::value* episode = object.if_contains("episode");
  const json::value* clips = object.if_contains("clips");
  if (episode == nullptr) return wrong("episode");
  if (clips == nullptr || !clips->is_array()) return wrong("clips");
  TRY_ASSIGN(item.episode, media_of(*episode));
  const json::value* fingerprint = episode->get_object().if_contains("fingerprint");
  if (fingerprint != nullptr && fingerprint->is_string()) {
    TRY_ASSIGN(item.fingerprint, target_of(fingerprint->get_string()));
  }
  for (const json::value& clip : clips->get_array()) {
    TRY_ASSIGN(ResearchMedia media, media_of(clip));
    item.clips.push_back(std::move(media));
  }
  return item;
}

std::string result_json(const ResearchItem& item, const ResearchMedia& clip,
                        const ClipResult& result, LastOne last) {
  json::object body = about(item);
  body["clip"] = clip.id;
  if (clip.number > 0) body["number"] = clip.number;
  body["algorithm"] = item.algorithm;
  json::array& offsets = body["offsets_ns"].emplace_array();
  json::array scores;
  for (const FoundAt& found : result.found) {
    offsets.emplace_back(found.offset_ns);
    scores.emplace_back(found.score);
  }
  body["scores"] = std::move(scores);
  body["episode_duration_ns"] = result.episode_duration_ns;
  body["clip_duration_ns"] = result.clip_duration_ns;
  body["episode_hash"] = item.episode.sha256;
  body["clip_hash"] = clip.sha256;
  body["error"] = result.error;
  body["final"] = last == LastOne::Yes;
  return json::serialize(body);
}

std::string keep_json(const ResearchItem& item) {
  return json::serialize(about(item));
}

std::string final_json(const ResearchItem& item) {
  json::object body = about(item);
  body["final"] = true;
  return json::serialize(body);
}

}  // namespace quern::worker
