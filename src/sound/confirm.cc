// Candidates, compared with the sound itself.
#include <algorithm>
#include <cmath>
#include <optional>

#include "sound/clip.h"
#include "sound/correlate.h"
#include "sound/finds.h"
#include "sound/pursue.h"
#include "sound/reader.h"
#include "sound/speed.h"

namespace quern::sound {
namespace {

// A candidate is so near to the place at least.
constexpr std::int64_t kSlack = kRate * 6 / 100;
// What a file may lack of a clip at its very beginning or end.
constexpr std::int64_t kEdge = kRate / 20;
// Around what was confirmed, this much is looked at for others that overlap it.
constexpr std::int64_t kAroundMax = 20LL * kRate;
// Places of one file are compared with a short clip so many at a time.
constexpr std::int64_t kStride = 1 << 19;
// Two clips before what may be one, its own length and two behind it.
constexpr std::int64_t kSurroundings = 5;

// Steps of speed: the first ones are fine enough for half a second, each next for twice as much.
constexpr std::int64_t kSpeedBegin = kRate / 2;
constexpr double kSpeedStep = 0.001;
constexpr int kSpeedSteps = 13;
constexpr double kBeginScore = 0.5;
constexpr std::size_t kGuesses = 4;  // that are followed

struct Task {
  std::int64_t begin = 0, end = 0;
  std::size_t search = 0, candidate = 0;
};

struct Aligned {
  double speed = 1;
  double start = 0;  // of the clip in the window
  double score = 0;
};

// A part of the clip that is tried at several speeds.
struct Level {
  std::int64_t from = 0, to = 0;  // of the clip
  std::int64_t slack = 0;
  double step = 0;
  int steps = 0;
};

class Confirmer {
 public:
  Confirmer(Source& episode, std::span<const Search> searches, const OnFound& on_found)
      : reader_(episode),
        searches_(searches),
        on_found_(on_found),
        open_(searches.size()),
        done_until_(searches.size(), INT64_MIN) {
    for (const Search& search : searches) {
      found_.emplace_back(std::min<double>(kRate / 40.0, double(search.clip->samples()) / 4));
    }
  }

  Result<> run() {
    TRY(everywhere());
    std::vector<Task> tasks = make_tasks();
    for (std::size_t i = 0; i < searches_.size(); ++i) {
      if (open_[i] == 0) TRY(tell(i));
    }
    for (const Task& task : tasks) {
      TRY(look(task));
      if (--open_[task.search] == 0) TRY(tell(task.search));
    }
    return {};
  }

 private:
  const Clip& clip_of(std::size_t search) const { return *searches_[search].clip; }
  static Template template_of(const Clip& clip) {
    return {clip.parts().samples, clip.parts().norm};
  }

  std::vector<Task> make_tasks() {
    std::vector<Task> tasks;
    for (std::size_t i = 0; i < searches_.size(); ++i) {
      const std::int64_t length = clip_of(i).samples();
      const std::int64_t around = std::min(length, kAroundMax) + kSlack;
      for (std::size_t k = 0; k < searches_[i].candidates.size(); ++k) {
        const Candidate& candidate = searches_[i].candidates[k];
        if (candidate.everywhere) continue;
        const auto span = static_cast<std::int64_t>(double(length) * 1.04);
        tasks.push_back({candidate.sample - around, candidate.sample + span + around, i, k});
        ++open_[i];
      }
    }
    std::stable_sort(tasks.begin(), tasks.end(),
                     [](const Task& a, const Task& b) { return a.begin < b.begin; });
    return tasks;
  }

  struct Window {
    std::span<const float> samples;
    std::int64_t begin;
  };

  // Clips that words do not find: the whole episode, once.
  Result<> everywhere() {
    std::vector<std::size_t> which;
    std::int64_t longest = 0;
    for (std::size_t i = 0; i < searches_.size(); ++i) {
      const auto& all = searches_[i].candidates;
      const auto is_so = [](const Candidate& c) { return c.everywhere; };
      if (std::none_of(all.begin(), all.end(), is_so) || !clip_of(i).parts().coarse) continue;
      which.push_back(i);
      longest = std::max(longest, clip_of(i).samples());
    }
    if (which.empty()) return {};
    CoarseScanner scanner;
    for (std::int64_t at = -kEdge;; at += kStride) {
      // Two clips more on both sides: whatever overlaps is seen together.
      const std::int64_t begin = std::max(at - 2 * longest, -kEdge);
      const std::int64_t behind = at + kStride + 3 * longest;
      TRY_ASSIGN(std::span<const float> window, reader_.window(begin, behind));
      const std::int64_t end = std::min(behind, reader_.end() + kEdge);
      window = window.first(static_cast<std::size_t>(std::max(end - begin, 0L)));
      scanner.load(window);
      for (const std::size_t i : which) {
        const std::int64_t length = clip_of(i).samples();
        // Ranges whose surroundings overlap are one: no place is compared twice.
        const std::int64_t apart = std::max<std::int64_t>(kRate, kSurroundings * length);
        const Range within{at - begin - length, at - begin + kStride + length};
        search_ranges({window, begin}, i, at,
                      scanner.find(*clip_of(i).parts().coarse, apart, within));
      }
      if (reader_.ended() && at + kStride >= reader_.end()) return {};
    }
  }

  // What begins in the stride from `at` on, in or around those ranges.
  void search_ranges(const Window& window, std::size_t search, std::int64_t at,
                     const std::vector<Range>& ranges) {
    const std::int64_t length = clip_of(search).samples();
    const auto size = static_cast<std::int64_t>(window.samples.size());
    for (const Range& range : ranges) {
      // Those that overlap one in the range are looked for as well.
      const std::int64_t from = std::max(window.begin + range.first - length, at);
      const std::int64_t to = std::min(window.begin + range.last + length, at + kStride);
      if (from >= to) continue;
      const std::int64_t first = std::max<std::int64_t>(range.first - 2 * length, 0);
      const std::int64_t last = std::min(range.last + 3 * length, size);
      if (last - first < length) continue;
      const auto part = window.samples.subspan(std::size_t(first), std::size_t(last - first));
      search_all({part, window.begin + first}, search, from, to);
    }
  }

  // All that begin between two samples.
  void search_all(const Window& window, std::size_t search, std::int64_t from, std::int64_t to) {
    const Template clip = template_of(clip_of(search));
    const std::vector<float> scores = correlator_.scores(window.samples, clip);
    for (const Place& place : pursue(window.samples, clip, scores, clip_of(search).parts().least)) {
      const double sample = double(window.begin) + place.sample;
      if (sample >= double(from) && sample < double(to)) {
        found_[search].add({sample, place.score, 1});
      }
    }
  }

  Result<> look(const Task& task) {
    const Candidate& candidate = searches_[task.search].candidates[task.candidate];
    if (candidate.sample < done_until_[task.search]) return {};
    TRY_ASSIGN(std::span<const float> samples, reader_.window(task.begin, task.end));
    const Window window{samples, task.begin};
    const Clip& clip = clip_of(task.search);
    if (is_there(window, clip, candidate)) {
      const std::int64_t until = task.end - clip.samples() * 104 / 100;
      search_all(window, task.search, task.begin, until);
      done_until_[task.search] = until - kSlack;
      return {};
    }
    const std::optional<Aligned> aligned = align(window, clip, candidate);
    if (aligned) {
      found_[task.search].add(
          {double(window.begin) + aligned->start, aligned->score, aligned->speed});
    }
    return {};
  }

  // At speed 1, near the candidate.
  bool is_there(const Window& window, const Clip& clip, const Candidate& candidate) {
    if (std::fabs(candidate.speed - 1) > 0.001) return false;
    const std::int64_t first = candidate.sample - kSlack - window.begin;
    const auto part = window.samples.subspan(static_cast<std::size_t>(first),
                                             static_cast<std::size_t>(clip.samples() + 2 * kSlack));
    const std::vector<float> scores = correlator_.scores(part, template_of(clip));
    return std::any_of(scores.begin(), scores.end(),
                       [&](float score) { return std::fabs(score) >= clip.parts().least; });
  }

  // A part of the clip at a speed, around where it is expected in the window.
  std::optional<Aligned> try_part(const Window& window, const Clip& clip, const Level& level,
                                  const Aligned& guess) {
    const std::int64_t from = level.from, slack = level.slack;
    std::vector<float> part = at_speed(
        std::span(clip.parts().samples).subspan(std::size_t(from), std::size_t(level.to - from)),
        guess.speed);
    const Template shape = make_template(part);
    const auto first = static_cast<std::int64_t>(guess.start + double(from) / guess.speed) - slack;
    const auto length = static_cast<std::int64_t>(part.size()) + 2 * slack;
    if (first < 0 || first + length > static_cast<std::int64_t>(window.samples.size())) {
      return std::nullopt;
    }
    const auto around = window.samples.subspan(std::size_t(first), std::size_t(length));
    const std::vector<float> scores = correlator_.scores(around, shape);
    const auto best = std::max_element(
        scores.begin(), scores.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); });
    double top = 0;
    if (best != scores.begin() && best + 1 != scores.end()) {
      const double sign = *best < 0 ? -1 : 1;
      top = parabola_top(sign * *(best - 1), sign * *best, sign * *(best + 1));
    }
    const double place = double(first) + double(best - scores.begin()) + top;
    return Aligned{guess.speed, place - double(from) / guess.speed, std::fabs(*best)};
  }

  // The best guesses of a part, by speeds around those of the guesses before.
  std::vector<Aligned> next_guesses(const Window& window, const Clip& clip,
                                    const Candidate& candidate, const Level& level,
                                    const std::vector<Aligned>& before) {
    const double anchor = double(candidate.anchor);
    std::vector<Aligned> next;
    for (const Aligned& guess : before) {
      for (int i = -level.steps; i <= level.steps; ++i) {
        Aligned now{guess.speed + i * level.step, 0, 0};
        const auto same = [&](const Aligned& a) {
          return std::fabs(a.speed - now.speed) < level.step / 4;
        };
        if (std::any_of(next.begin(), next.end(), same)) continue;
        // The anchor stays where it is, whatever the speed.
        now.start = guess.start + anchor / guess.speed - anchor / now.speed;
        const auto tried = try_part(window, clip, level, now);
        if (tried) next.push_back(*tried);
      }
    }
    std::stable_sort(next.begin(), next.end(),
                     [](const Aligned& a, const Aligned& b) { return a.score > b.score; });
    if (next.size() > kGuesses) next.resize(kGuesses);
    return next;
  }

  // From half a second around the anchor to the whole clip, each time twice as long and the speed
  // twice as fine.
  std::optional<Aligned> align(const Window& window, const Clip& clip, const Candidate& candidate) {
    const std::int64_t length = clip.samples();
    std::vector<Aligned> guesses{{candidate.speed, double(candidate.sample - window.begin), 0}};
    Level level{0, 0, kSlack, kSpeedStep, kSpeedSteps};
    for (std::int64_t part = kSpeedBegin;; part *= 2) {
      level.from = std::max<std::int64_t>(candidate.anchor - part / 2, 0);
      level.to = std::min(candidate.anchor + part / 2, length);
      guesses = next_guesses(window, clip, candidate, level, guesses);
      if (guesses.empty() || guesses.front().score < kBeginScore) return std::nullopt;
      if (level.from == 0 && level.to == length) break;
      level = {0, 0, kRate / 200, level.step / 2, 2};
    }
    // Once more, twice as fine.
    level.step /= 2;
    level.steps = 1;
    guesses = next_guesses(window, clip, candidate, level, {guesses.front()});
    if (guesses.empty() || guesses.front().score < clip.parts().least) {
      return std::nullopt;
    }
    return guesses.front();
  }

  // More than an edge of it would lie outside of the episode.
  bool is_cut_off(const Found& found, const Clip& clip) const {
    const double behind = found.sample + double(clip.samples()) / found.speed;
    return found.sample < double(-kEdge) ||
           (reader_.ended() && behind > double(reader_.end() + kEdge));
  }

  Result<> tell(std::size_t search) {
    const Clip& clip = clip_of(search);
    const auto cut_off = [&](const Found& found) { return is_cut_off(found, clip); };
    std::vector<Occurrence> result;
    for (const Found& found : found_[search].take(cut_off)) {
      const double ns = std::max(found.sample, 0.0) * 1e9 / kRate;
      result.push_back({std::llround(ns), std::min(found.score, 1.0), found.speed});
    }
    return on_found_(search, std::move(result));
  }

  Reader reader_;
  std::span<const Search> searches_;
  const OnFound& on_found_;
  Correlator correlator_;
  std::vector<Finds> found_;
  std::vector<std::size_t> open_;         // tasks left
  std::vector<std::int64_t> done_until_;  // all places before were looked at
};

}  // namespace

Result<> confirm(Source& episode, std::span<const Search> searches, const OnFound& on_found) {
  return Confirmer(episode, searches, on_found).run();
}

Result<std::vector<Occurrence>> confirm(Source& episode, const Clip& clip,
                                        std::span<const Candidate> candidates) {
  std::vector<Occurrence> result;
  const Search search{&clip, {candidates.begin(), candidates.end()}};
  const OnFound keep = [&](std::size_t, std::vector<Occurrence> found) -> Result<> {
    result = std::move(found);
    return {};
  };
  TRY(confirm(episode, std::span(&search, 1), keep));
  return result;
}

}  // namespace quern::sound
