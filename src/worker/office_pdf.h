// What LibreOffice writes into a PDF of the moment at which it did: gone, so that the same document
// gives the same bytes.
#pragma once

#include <string>

namespace quern::worker {

// In place: dates become blanks, the identifier and the checksum zeros, all of the same length.
void forget_when_made(std::string& pdf);

}  // namespace quern::worker
