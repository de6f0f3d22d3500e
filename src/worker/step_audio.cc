// Audio: a sound, or the sound of a film, becomes a page with its shape, tags and chapters.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdio>

#include "worker/sound_document.h"
#include "worker/sound_file.h"
#include "worker/steps.h"
#include "worker/text_layout.h"
#include "worker/text_pdf.h"
#include "worker/thumbnail.h"

namespace quern::worker {
namespace {

// Six hours of sound take less than two minutes.
constexpr std::int64_t kWallMs = 900'000;

std::string version() {
  return "1 " + sound_version();
}

void warm() {
  warm_sound();
  warm_thumbnails(text_pdf(lay_out("x", 1)));
}

std::string metadata_of(const std::string& parent, const SoundInfo& info) {
  boost::system::error_code failed;
  boost::json::value parsed = boost::json::parse(parent, failed);
  boost::json::object object =
      !failed && parsed.is_object() ? parsed.get_object() : boost::json::object();
  for (const auto& [name, value] : sound_fields(info)) object[name] = value;
  return boost::json::serialize(object);
}

StepEnd run(StepContext& context) {
  SoundInfo info;
  if (auto failure = read_sound(context.inputs.at(0), info)) {
    if (!context.task.detected_type.empty()) {
      failure->message += " (" + context.task.detected_type + ")";
    }
    return failure;
  }
  if (info.was_cut) {
    std::fprintf(stderr, "the shape is of the first %g seconds\n", kDecodedSecondsMax);
  }
  if (info.damaged > 0) {
    std::fprintf(stderr, "%zu pieces of the sound are damaged\n", info.damaged);
  }
  const std::string text = sound_text(info);
  const std::string pdf = sound_pdf(info, text, context.limits.text_pages);
  StepTask task = context.task;
  task.metadata = metadata_of(task.metadata, info);
  context.out.part("0.json", child_json(task, {task.filename, "application/pdf", false}));
  context.out.part("0.blob", pdf);
  context.out.part("0.txt", text);
  const auto thumbnail = thumbnail_of(info.peaks.empty() ? pdf : shape_pdf(info));
  if (thumbnail) context.out.part("0-thumbnail.jpg", *thumbnail);
  return std::nullopt;
}

}  // namespace

Step audio_step() {
  return {"Audio", version, warm, run, 1, kWallMs};
}

}  // namespace quern::worker
