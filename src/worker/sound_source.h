// SoundSource: the sound of a file as one channel at sound::kRate, for the finder.
//
// Guarantee: sample n is what is heard n / kRate seconds after the file's first sample, whether it
// was reached by reading or by seeking, whatever the codec, and also behind a place where the file
// changes its rate or its channels. What cannot be decoded is silence of the same length where the
// file's timestamps tell it.
// How: channels are averaged (where they cancel each other, the loudest one is taken); the FFmpeg
// libraries decode and resample. Only the given descriptor is read, by pread.
//
// One thread. The descriptor is the caller's and stays open. For use in the box.
#pragma once

#include <memory>

#include "sound/finder.h"
#include "worker/step.h"

namespace quern::worker {

class SoundSource : public sound::Source {
 public:
  // Invalid, with a sentence, where the file has no sound that can be read.
  static Result<std::unique_ptr<SoundSource>> open(const StepInput& input);
};

}  // namespace quern::worker
