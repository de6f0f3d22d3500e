#include "worker/research_lines.h"

#include <boost/json.hpp>
#include <cmath>

#include "base/utf8.h"
#include "worker/base64.h"

namespace quern::worker {
namespace json = boost::json;
namespace {

std::optional<std::int64_t> count_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr) return std::nullopt;
  boost::system::error_code failed;
  const auto number = value->to_number<std::int64_t>(failed);
  if (failed || number < 0) return std::nullopt;
  return number;
}

std::optional<json::object> object_of(std::string_view text) {
  boost::system::error_code failed;
  json::value parsed = json::parse(text, failed);
  if (failed || !parsed.is_object()) return std::nullopt;
  return std::move(parsed.get_object());
}

// Nothing where it is no list of places with their scores.
std::optional<std::vector<FoundAt>> found_of(const json::object& object) {
  const json::value* offsets = object.if_contains("offsets_ns");
  const json::value* scores = object.if_contains("scores");
  std::vector<FoundAt> all;
  if (offsets == nullptr || !offsets->is_array() || scores == nullptr || !scores->is_array()) {
    return std::nullopt;
  }
  const json::array& at = offsets->get_array();
  const json::array& how = scores->get_array();
  if (at.size() != how.size() || at.size() > kFoundMax) return std::nullopt;
  for (std::size_t i = 0; i < at.size(); ++i) {
    boost::system::error_code failed, failed_too;
    const auto offset = at[i].to_number<std::int64_t>(failed);
    const auto score = how[i].to_number<double>(failed_too);
    if (failed || failed_too || offset < 0 || !std::isfinite(score)) return std::nullopt;
    all.push_back({offset, score});
  }
  return all;
}

std::optional<ResearchLine> parse_line(std::string_view text, std::size_t clips) {
  const std::optional<json::object> object = object_of(text);
  if (!object) return std::nullopt;
  ResearchLine line;
  if (object->contains("pass")) {
    line.kind = ResearchLine::Kind::Pass;
    return line;
  }
  const auto begin = count_of(*object, "begin");
  const auto clip = begin ? begin : count_of(*object, "clip");
  if (!clip || static_cast<std::size_t>(*clip) >= clips) return std::nullopt;
  line.clip = static_cast<std::size_t>(*clip);
  if (begin) return line;
  if (object->contains("needs_sound")) {
    line.kind = ResearchLine::Kind::NeedsSound;
    return line;
  }
  line.kind = ResearchLine::Kind::Result;
  line.result.clip_duration_ns = count_of(*object, "clip_duration_ns").value_or(0);
  line.result.episode_duration_ns = count_of(*object, "episode_duration_ns").value_or(0);
  if (const json::value* error = object->if_contains("error");
      error != nullptr && error->is_string()) {
    line.result.error = valid_utf8(json::value_to<std::string>(*error));
    line.result.error.resize(std::min(line.result.error.size(), kClipErrorBytesMax));
    line.result.error = valid_utf8(line.result.error);
    return line;
  }
  auto found = found_of(*object);
  if (!found) return std::nullopt;
  line.result.found = *std::move(found);
  return line;
}

json::object result_object(const ResearchLine& line) {
  json::object object{{"clip", line.clip},
                      {"clip_duration_ns", line.result.clip_duration_ns},
                      {"episode_duration_ns", line.result.episode_duration_ns}};
  if (!line.result.error.empty()) {
    object["error"] = line.result.error;
    return object;
  }
  json::array offsets, scores;
  for (const FoundAt& found : line.result.found) {
    offsets.emplace_back(found.offset_ns);
    scores.emplace_back(found.score);
  }
  object["offsets_ns"] = std::move(offsets);
  object["scores"] = std::move(scores);
  return object;
}

}  // namespace

std::string research_task_json(const ResearchTask& task) {
  const json::object about{{"mode", task.mode == ResearchMode::Index ? "index" : "search"},
                           {"sound", task.sound}};
  return json::serialize(json::object{{"metadata", about}});
}

Result<ResearchTask> parse_research_task(std::string_view metadata) {
  const std::optional<json::object> object = object_of(metadata);
  const json::value* mode = object ? object->if_contains("mode") : nullptr;
  if (mode == nullptr || !mode->is_string()) {
    return Error{Errc::Invalid, "a task of research without a mode"};
  }
  ResearchTask task;
  task.mode = mode->get_string() == "index" ? ResearchMode::Index : ResearchMode::Search;
  const json::value* sound = object->if_contains("sound");
  task.sound = sound != nullptr && sound->is_bool() && sound->get_bool();
  return task;
}

std::string line_of(const ResearchLine& line) {
  json::object object;
  switch (line.kind) {
    case ResearchLine::Kind::Begin:
      object["begin"] = line.clip;
      break;
    case ResearchLine::Kind::Pass:
      object["pass"] = true;
      break;
    case ResearchLine::Kind::NeedsSound:
      object["clip"] = line.clip;
      object["needs_sound"] = true;
      break;
    case ResearchLine::Kind::Result:
      object = result_object(line);
      break;
  }
  return json::serialize(object) + '\n';
}

void ResearchLines::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    too_long_ = too_long_ || partial_.size() + piece.size() > kResearchLineBytesMax;
    if (!too_long_) partial_ += piece;
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    if (!too_long_) {
      if (auto line = parse_line(partial_, clips_)) lines_.push_back(*std::move(line));
    }
    partial_.clear();
    too_long_ = false;
  }
}

std::optional<ResearchLine> ResearchLines::next() {
  if (lines_.empty()) return std::nullopt;
  ResearchLine line = std::move(lines_.front());
  lines_.pop_front();
  return line;
}

std::string framed(const MadeFingerprint& made) {
  const json::object head{{"waveform", base64_encoded(made.waveform)},
                          {"duration_ns", made.duration_ns},
                          {"bytes", made.bytes.size()}};
  return json::serialize(head) + '\n' + made.bytes;
}

Result<MadeFingerprint> parse_framed(std::string_view output) {
  const Error broken{Errc::Corrupt, "the box made no whole fingerprint"};
  const std::size_t end = output.find('\n');
  if (end == std::string_view::npos) return broken;
  const std::optional<json::object> head = object_of(output.substr(0, end));
  output.remove_prefix(end + 1);
  if (!head) return broken;
  const auto bytes = count_of(*head, "bytes");
  const auto duration = count_of(*head, "duration_ns");
  const json::value* waveform = head->if_contains("waveform");
  if (!bytes || !duration || waveform == nullptr || !waveform->is_string()) return broken;
  auto points = base64_decoded(waveform->get_string());
  if (!points || points->size() > kWaveformBytesMax) return broken;
  if (static_cast<std::size_t>(*bytes) != output.size() || output.size() > kFingerprintBytesMax) {
    return broken;
  }
  return MadeFingerprint{*std::move(points), *duration, std::string(output)};
}

}  // namespace quern::worker
