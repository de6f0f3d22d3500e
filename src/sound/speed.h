// A sound as it is when it is played faster or slower, as tapes and resamplers do: pitch and tempo
// change together. Pure.
#pragma once

#include <span>
#include <vector>

namespace quern::sound {

// Sample i is that at i * speed of the given ones, by a windowed sinc of kTaps.
std::vector<float> at_speed(std::span<const float> samples, double speed);

}  // namespace quern::sound
