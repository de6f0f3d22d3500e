#include "worker/sound_source.h"

namespace quern::worker {

Result<std::unique_ptr<SoundSource>> SoundSource::open(const StepInput&) {
  return Error(Errc::Invalid, "not yet");
}

}  // namespace quern::worker
