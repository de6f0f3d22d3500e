// All occurrences of a clip in a stretch of sound, also where they touch or overlap.
//
// A place is an occurrence if the clip correlates there, and still does once what other occurrences
// explain is taken away. So two that overlap are two, and the echoes that any sound has of itself
// (a beat later, a period later) are none.
//
// Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sound/correlate.h"

namespace quern::sound {

struct Place {
  double sample = 0;  // of the window; to a fraction of a sample, by a parabola
  double score = 0;   // 0 to 1
};

// The least score of a clip of so many samples. Short sounds are alike by chance, and so are those
// that hardly change: one tone is like any other of its pitch.
enum class Wordy { Yes, No };  // whether its words tell it from others
double score_min(std::size_t samples, Wordy wordy);

// Ascending.
std::vector<Place> pursue(std::span<const float> window, const Template& clip,
                          std::span<const float> scores, double least);

// The top of the parabola through three values, -0.5 to 0.5 from the middle one.
double parabola_top(double before, double middle, double after);

}  // namespace quern::sound
