// How wide a character is in a fixed grid: 2 for the wide ones of East Asia, 0 for marks that sit
// on others, 1 for the rest.
#pragma once

namespace quern::worker {

int columns_of(char32_t code_point);

}  // namespace quern::worker
