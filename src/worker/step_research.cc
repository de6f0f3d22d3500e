// Research: the finder, boxed. Makes a fingerprint of an episode, or looks for clips in it;
// research_lines.h tells what comes in and what goes out.
#include <fmt/format.h>

#include "model/finder_version.h"
#include "sound/finder.h"
#include "worker/research_lines.h"
#include "worker/sound_file.h"
#include "worker/sound_source.h"
#include "worker/steps.h"

namespace quern::worker {
namespace {

using model::ErrorKind;

// The server asks for these.
static_assert(sound::kAlgorithm == model::kFinderAlgorithm);
static_assert(sound::kFingerprintVersion == model::kFinderFingerprint);

// Of clips that are compared in one pass over the episode.
constexpr std::size_t kPreparedBytesMax = 512 * 1024 * 1024;

std::string version() {
  return fmt::format("{}.{} {}", sound::kAlgorithm, sound::kFingerprintVersion, sound_version());
}

StepEnd corrupt(const Error& why) {
  return Failure{ErrorKind::Corrupt, why.message()};
}

StepEnd index(StepContext& context) {
  auto source = SoundSource::open(context.inputs.at(0));
  if (!source) return corrupt(source.error());
  sound::Waveform waveform;
  const auto fingerprint = sound::make_fingerprint(**source, &waveform);
  if (!fingerprint) return corrupt(fingerprint.error());
  const MadeFingerprint made{waveform.points, fingerprint->duration_ns(), fingerprint->encode()};
  context.out.raw(framed(made));
  return std::nullopt;
}

// Looks for the clips of one task.
class Search {
 public:
  Search(StepContext& context, const ResearchTask& task)
      : out_(context.out), inputs_(context.inputs), has_sound_(task.sound) {}

  StepEnd run() {
    const std::size_t first = has_sound_ ? 2 : 1;
    if (inputs_.size() < first) return Failure{ErrorKind::Internal, "an input is missing"};
    auto decoded = sound::Fingerprint::decode(read_input(inputs_[0], kFingerprintBytesMax));
    if (!decoded) return corrupt(decoded.error());
    episode_ = *std::move(decoded);
    for (std::size_t i = first; i < inputs_.size(); ++i) {
      const Result<> looked = look(i - first, inputs_[i]);
      if (!looked.ok()) fail(i - first, looked.error().message());
      if (prepared_bytes_ < kPreparedBytesMax) continue;
      if (StepEnd end = compare()) return end;
    }
    return compare();
  }

 private:
  struct Prepared {
    std::size_t place;
    sound::Clip clip;
    std::vector<sound::Candidate> candidates;
  };

  // By the fingerprint alone.
  Result<> look(std::size_t place, const StepInput& input) {
    say({ResearchLine::Kind::Begin, place, {}});
    TRY_ASSIGN(const std::unique_ptr<SoundSource> source, SoundSource::open(input));
    TRY_ASSIGN(sound::Clip clip, sound::prepare(*source));
    TRY_ASSIGN(std::vector<sound::Candidate> candidates, sound::candidates(episode_, clip));
    if (candidates.empty()) {
      tell(place, clip, {});
    } else if (!has_sound_) {
      say({ResearchLine::Kind::NeedsSound, place, {}});
    } else {
      prepared_bytes_ += clip.bytes();
      prepared_.push_back({place, std::move(clip), std::move(candidates)});
    }
    return {};
  }

  // Those that may be in it, with its sound.
  StepEnd compare() {
    if (prepared_.empty()) return std::nullopt;
    say({ResearchLine::Kind::Pass, 0, {}});
    auto source = SoundSource::open(inputs_[1]);
    if (!source) return corrupt(source.error());
    std::vector<sound::Search> searches;
    for (Prepared& one : prepared_) searches.push_back({&one.clip, std::move(one.candidates)});
    const auto on_found = [this](std::size_t which, std::vector<sound::Occurrence> found) {
      tell(prepared_[which].place, prepared_[which].clip, found);
      return Result<>{};
    };
    const Result<> went = sound::confirm(**source, searches, on_found);
    prepared_.clear();
    prepared_bytes_ = 0;
    return went.ok() ? StepEnd() : corrupt(went.error());
  }

  void tell(std::size_t place, const sound::Clip& clip,
            const std::vector<sound::Occurrence>& found) {
    ResearchLine line{ResearchLine::Kind::Result, place, {}};
    line.result.clip_duration_ns = clip.duration_ns();
    line.result.episode_duration_ns = episode_.duration_ns();
    for (const sound::Occurrence& one : found) {
      line.result.found.push_back({one.offset_ns, one.score});
    }
    say(line);
  }
  void fail(std::size_t place, const std::string& why) {
    ResearchLine line{ResearchLine::Kind::Result, place, {}};
    line.result.episode_duration_ns = episode_.duration_ns();
    line.result.error = why;
    say(line);
  }
  // At once: somebody waits for it, and we may die of the next one.
  void say(const ResearchLine& line) {
    out_.raw(line_of(line));
    out_.flush();
  }

  PartWriter& out_;
  const std::vector<StepInput>& inputs_;
  const bool has_sound_;
  sound::Fingerprint episode_;
  std::vector<Prepared> prepared_;
  std::size_t prepared_bytes_ = 0;
};

StepEnd run(StepContext& context) {
  const auto task = parse_research_task(context.task.metadata);
  if (!task) return Failure{ErrorKind::Internal, task.error().message()};
  if (task->mode == ResearchMode::Index) return index(context);
  return Search(context, *task).run();
}

}  // namespace

Step research_step() {
  return {"Research", version, warm_sound, run, 1};
}

}  // namespace quern::worker
