#include "app/config_reader.h"
#include "model/finder_version.h"

namespace quern::app {

Result<> interpret_researchers(const Reader& read, Config& config) {
  research::Options& leases = config.research.leases;
  TRY_ASSIGN(config.local_researchers, read.number("local-research", 0, 1000));
  TRY_ASSIGN(leases.clips_per_item, read.number("research-clips", 1, 10'000));
  TRY_ASSIGN(leases.lease_ms, read.number("research-lease", 100, std::int64_t{7} * 86'400'000));
  TRY_ASSIGN(leases.offer_ms, read.number("research-offer", 50, std::int64_t{7} * 86'400'000));
  if (leases.offer_ms >= leases.lease_ms) {
    return Error{Errc::Invalid,
                 "research-offer must be shorter than research-lease: what nobody takes is to go "
                 "before its lease ends"};
  }
  config.research.algorithm = model::kFinderAlgorithm;
  return {};
}

}  // namespace quern::app
