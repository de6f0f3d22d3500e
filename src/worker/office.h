// Office: LibreOffice in this process, through its own library. One document at a time.
//
// Guarantee: no network, no macros, no dialogues; what it wrote is checked, never its return code
// alone. How: LibreOfficeKit, started in a child that is kept.
// Threads: LibreOffice has its own; call from one. Lifetime: it ends with its process.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "worker/limits.h"

namespace quern::worker {

// Of its build, or "" where LibreOffice is not installed.
std::string office_version();

// In a child, once: gets it ready. `profile` is a folder for it alone.
void start_office(const std::string& profile);

struct OfficeOrder {
  std::string input;   // a path, with the suffix of its kind
  std::string output;  // of the PDF
};
struct OfficeMade {
  std::vector<std::string> sheets;  // their names, which no page shows
};
// Nothing: the PDF is there.
std::optional<Failure> office_to_pdf(const OfficeOrder& order, OfficeMade& made);

}  // namespace quern::worker
