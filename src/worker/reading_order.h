// Letters of a line as they stand on the page become letters in the order in which they are read.
//
// PDFs place letters; Hebrew and Arabic ones mostly from left to right as they are seen. Where a
// producer wrote them as they are read, which their places tell, they stay.
#pragma once

#include <vector>

namespace quern::worker {

struct PlacedLetter {
  char32_t letter = 0;
  float x = 0;
};

void to_reading_order(std::vector<PlacedLetter>& line);

}  // namespace quern::worker
