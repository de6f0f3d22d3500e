// Removals: jobs that are marked as deleting go, step by step, behind everybody's back.
//
// Guarantee: a marked job goes; whoever dies on the way, the next process goes on
// (resume_removals). First its partitions go, so that no owner can write for it any more; then its
// files, in bounded transactions; then what no row names any more is swept: blobs (blob::sweep) and
// web archives (crawl::sweep_archive).
//
// On the loop. Lifetime: a removal that is under way ends when the writer stops.
#pragma once

#include <memory>
#include <vector>

#include "api/service.h"

namespace quern::api {

// Removes these, and waits a while for it. Whether they are gone; otherwise it goes on.
net::Task<bool> wait_for_removals(std::shared_ptr<const Parts> parts,
                                  std::vector<tree::JobId> jobs);

// What a former process had begun. For the start: spawn it.
net::Task<> resume_removals(std::shared_ptr<const Parts> parts);
// Likewise retries whose job was made and whose file was not (api/retries.cc).
net::Task<> resume_retries(std::shared_ptr<const Parts> parts);

}  // namespace quern::api
