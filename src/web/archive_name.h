// Names of archives: whose a WARC file is stands in its name, so that what a job has archived can
// be found and removed, on whatever machine it lies, by the name alone.
//
//   quern-c3-j17-5b2f9c01-20261116070606-b2a983962b8d.warc.gz
//   └────── prefix ─────┘ └─ opened at ─┘└─ random ─┘
//
// A prefix is of one job of one store: job 17 of collection 3, made at an instant of which the last
// 32 bits (of microseconds) are told. Two stores that number their jobs alike, or one that was set
// back and numbers on from there, do not mean the same files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quern::web {

struct ArchiveOwner {
  std::string kind;  // letters: what archived
  std::int64_t collection = 0;
  std::int64_t job = 0;
  std::int64_t made_us = 0;  // the job
};
std::string archive_prefix(const ArchiveOwner& owner);

struct ArchiveName {
  std::string prefix;
  std::int64_t collection = 0;
  std::int64_t job = 0;
};
// Of a file; none where it is not called like one of ours.
std::optional<ArchiveName> parse_archive_name(std::string_view filename);
// Of a prefix alone.
std::optional<ArchiveName> parse_archive_prefix(std::string_view prefix);

}  // namespace quern::web
