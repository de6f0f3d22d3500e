// Researcher: asks a server for episodes and clips, looks for each clip in its episode in a box,
// and tells each result as soon as it is there.
//
//   ask -> fingerprint (the server's, or made of the sound) -> clips -> search by the fingerprint
//       -> the sound, where a clip may be in it -> compare -> the last result is final
//
// Guarantee: no sound is decoded in this process. Each clip of an item is told once: what was
// found, or why it could not be looked for; or, where the researcher stops, the item is given back
// with a final word. A box that dies takes nobody with it: the clip at which it died is tried
// alone, and is told as failed when that dies, too. A lease that was lost does not stop the work,
// since results without one are welcome. How: what is told is told before more is read from the
// box, and a box that waits is not counted as slow; while a box computes, the lease is kept alive
// by a word of its own.
//
// Threads: the loop's only. Lifetime: goes before the loop; ended() by then.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/event.h"
#include "worker/box.h"
#include "worker/broker.h"
#include "worker/kept_files.h"
#include "worker/research_calls.h"

namespace quern::worker {

inline constexpr std::string_view kResearchStep = "Research";
// In one child: each is a descriptor of it.
inline constexpr std::size_t kClipsPerRun = 100;
inline constexpr int kDeathsMax = 2;

// An item in hand.
struct ResearchWork {
  enum class State { Open, NeedsSound, Done };
  struct Clip {
    State state = State::Open;
    int deaths = 0;
    SharedFile file;
  };

  explicit ResearchWork(ResearchItem taken) : item(std::move(taken)), clips(item.clips.size()) {}
  std::size_t left() const;

  ResearchItem item;
  std::vector<Clip> clips;
  SharedFile fingerprint;
  SharedFile sound;
  bool made_fingerprint = false;  // by us, of this very sound
  int deaths = 0;                 // of boxes that had no clip in hand
  std::shared_ptr<Run> run;
  bool final_told = false;
  bool over = false;
};
using WorkPtr = std::shared_ptr<ResearchWork>;

class Researcher : public std::enable_shared_from_this<Researcher> {
 public:
  Researcher(net::Loop& loop, const BrokerOptions& options, net::Event& changed);

  static net::Task<> run(std::shared_ptr<Researcher> self);
  // Asks no more. The clip in hand may be finished for half of the grace; then the item is given
  // back.
  void stop();
  // Ends what is under way.
  void cut();

  bool ended() const { return coroutines_ == 0; }
  // Since when it has had no item; nothing while it has.
  std::optional<net::Instant> idle_since() const;
  const std::optional<Error>& failure() const { return failure_; }

 private:
  using Batch = std::vector<std::size_t>;  // places of clips

  net::Task<Result<>> serve();
  net::Task<Result<>> need_box();
  static net::Task<> keep_lease(std::shared_ptr<Researcher> self, WorkPtr work);
  static net::Task<> wind_down(std::shared_ptr<Researcher> self, WorkPtr work);
  void begin(const WorkPtr& work);

  // research_work.cc
  net::Task<> research(WorkPtr work);
  net::Task<Result<>> prepare(WorkPtr work);
  net::Task<Result<>> need_fingerprint(WorkPtr work);
  net::Task<Result<>> make_fingerprint(WorkPtr work);
  net::Task<Result<>> need_sound(WorkPtr work);
  net::Task<Result<>> need_clips(WorkPtr work);
  net::Task<Result<Batch>> next_batch(WorkPtr work);
  net::Task<Result<>> search(WorkPtr work, Batch batch);
  net::Task<> take_line(WorkPtr work, const Batch& batch, ResearchLine line);
  net::Task<> judge(WorkPtr work, Batch batch, RunEnd end);
  net::Task<Result<SharedFile>> need_file(const ResearchMedia& media);

  net::Task<> tell(WorkPtr work, std::size_t clip, ClipResult result);
  net::Task<> tell_failed(WorkPtr work, Batch clips, std::string why);
  net::Task<Result<RunEnd>> run_index(WorkPtr work, std::string* output);

  net::Loop& loop_;
  const BrokerOptions& options_;
  net::Event& changed_;
  ResearchCalls calls_;
  KeptFiles kept_;
  std::unique_ptr<Box> box_;
  int box_failures_ = 0;
  WorkPtr work_;
  std::optional<std::size_t> at_;  // the place of the clip that the box looks at
  net::Instant idle_since_;
  int coroutines_ = 1;  // run, which whoever made us spawns
  std::optional<Error> failure_;
  bool stopping_ = false;
};

}  // namespace quern::worker
