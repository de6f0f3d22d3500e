#include "queue/submit.h"

namespace quern::queue::internal {

void push_when_room(net::Loop::Remote remote, store::Lane& lane,
                    std::shared_ptr<std::unique_ptr<store::Operation>> operation,
                    std::function<void(Error)> refused) {
  using Push = store::Lane::Push;
  const Push pushed = lane.try_push(*operation);
  if (pushed == Push::Taken) return;
  if (pushed == Push::Stopped) return refused({Errc::Canceled, "the writer has stopped"});
  const bool waits = lane.when_room([remote, &lane, operation, refused] {
    remote.post(
        [remote, &lane, operation, refused] { push_when_room(remote, lane, operation, refused); });
  });
  if (!waits) refused({Errc::Busy, "too many callers wait for the writer"});
}

}  // namespace quern::queue::internal
