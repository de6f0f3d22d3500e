// Registrations: which searchers there are and what they hold, as they last said.
//
// Nothing here matters: whoever is alive says it again every few seconds. It is a table so that
// every server of a fleet can route without asking another.
// Functions run on the writer, or in a read where they only load.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "store/tx.h"

namespace quern::search {

inline constexpr std::size_t kSearchersMax = 1000;
// How often a searcher registers; silent for so long it is asked no more; silent for longer, it is
// forgotten and its segments are given to others.
inline constexpr std::int64_t kRegisterMs = 2000;
inline constexpr std::int64_t kSilentUs = 6'000'000;
inline constexpr std::int64_t kForgottenUs = 15'000'000;

struct Registration {
  std::string id;
  std::string address;  // HOST:PORT; empty: it cannot be asked
  std::int64_t free_mb = 0;
  std::vector<std::string> held;  // digests
  std::string message;            // that said so, in its queue
  std::int64_t seen_us = 0;

  bool is_silent(std::int64_t now_us) const { return now_us - seen_us > kSilentUs; }
};

// The registration of the same id that was there before, where there was one.
Result<std::optional<Registration>> put_registration(store::Tx& tx, const Registration& one);
Result<std::vector<Registration>> list_registrations(store::Tx& tx);
Result<> remove_registration(store::Tx& tx, const std::string& id);

}  // namespace quern::search
