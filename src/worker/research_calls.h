// ResearchCalls: what a researcher asks of its server, and how it puts up with one that is away.
//
// Guarantee: a result that was handed to tell() is known to the server when it returns, or the
// server has said that it will never take it, or cut() was called. A server that is away is asked
// again, with growing pauses, for ever; one that is there and breaks off in the middle of a file is
// asked kFetchTriesMax times.
//
// Threads: the loop's only. Lifetime: goes before the loop; nothing is under way by then.
#pragma once

#include <optional>
#include <string>

#include "io/descriptor.h"
#include "net/event.h"
#include "worker/broker.h"
#include "worker/line.h"
#include "worker/research_item.h"
#include "worker/research_lines.h"

namespace quern::worker {

inline constexpr int kFetchTriesMax = 5;
inline constexpr int kTellTriesMax = 3;  // of a body that the server does not take
inline constexpr std::int64_t kAskWaitMs = 30'000;

class ResearchCalls {
 public:
  ResearchCalls(net::Loop& loop, const BrokerOptions& options, net::Event& changed);

  // The next item, once; nothing where there was none.
  net::Task<Result<std::optional<ResearchItem>>> ask_for_work();
  // Into a file without a name. Missing where the server does not have it any more, TooLarge,
  // Corrupt after kFetchTriesMax, Canceled by cut().
  net::Task<Result<io::Descriptor>> fetch(std::string target, std::uint64_t bytes);
  net::Task<Result<std::string>> fetch_small(std::string target, std::size_t bytes_max);
  net::Task<Result<>> tell(std::string json);
  // Once: the next one does as well.
  net::Task<> keep_lease(std::string json);
  // Once: whoever comes next makes another.
  net::Task<> put_fingerprint(const ResearchItem& item, const MadeFingerprint& made);

  // A poll ends, and pauses do; what is to be told is told all the same.
  void stop();
  // Everything ends.
  void cut();
  net::Task<> pause();
  void calm() { pause_ms_ = 0; }

 private:
  enum class End { Done, Away, Broke };
  net::Task<Result<End>> fetch_once(std::string target, std::uint64_t bytes, int file);
  std::string target(std::string_view path) const;

  const BrokerOptions& options_;
  net::Event& changed_;
  Lines lines_;
  std::int64_t pause_ms_ = 0;
  bool stopping_ = false;
  bool cut_ = false;
};

}  // namespace quern::worker
