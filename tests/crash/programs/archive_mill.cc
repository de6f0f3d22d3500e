// archive_mill FOLDER ORDER: a program for the kill sweep of web archives.
//
// It appends captures, over several files, and notes each in a journal once it is durable; a later
// start cuts every file back to what the journal knows and goes on. At the end it prints what all
// files hold, without their names. ORDER: right; uncut (nothing is cut back); stops (like right,
// but the first start kills itself with a record that it has not noted).
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <vector>

#include "base/crash.h"
#include "io/file.h"
#include "web/archive.h"
#include "web/body.h"
#include "web/warc_message.h"

namespace quern::web {
namespace {

constexpr int kCaptures = 6;
constexpr int kStopsAt = 3;
constexpr std::int64_t kFileBytes = 5'000;  // two captures
constexpr std::size_t kJournalBytesMax = 1 << 20;
constexpr std::size_t kFilesMax = 1000;

CaptureOrder capture(int number) {
  CaptureOrder order;
  order.url = fmt::format("http://site.example/{}", number);
  order.at_us = 1'794'808'800'000'000 + number;
  order.request_head = "GET / HTTP/1.1\r\n\r\n";
  order.response_head = "HTTP/1.1 200 OK\r\n\r\n";
  std::string body(1500, '\0');
  unsigned seed = static_cast<unsigned>(number);
  for (char& c : body) {
    seed = seed * 1'664'525 + 1'013'904'223;
    c = static_cast<char>(seed >> 24);
  }
  order.body = BodyWriter::in_memory(std::move(body));
  return order;
}

class Mill {
 public:
  explicit Mill(std::filesystem::path folder)
      : archives_(folder / "warc"), journal_path_(folder / "journal") {}

  Result<> recover(bool cut) {
    TRY(io::make_folders_durably(archives_));
    TRY_ASSIGN(const bool there, io::path_exists(journal_path_));
    if (there) {
      TRY_ASSIGN(journal_, io::read_file(journal_path_, kJournalBytesMax));
    }
    std::map<std::string, std::int64_t> ends;
    std::istringstream lines(journal_);
    std::string name;
    for (std::int64_t end = 0; lines >> name >> end; ++noted_) {
      ends[name] = std::max(ends[name], end);
    }
    TRY_ASSIGN(const auto entries, io::list_folder(archives_, kFilesMax));
    for (const io::FolderEntry& entry : entries) {
      if (cut) TRY(Archive::cut_back(archives_ / entry.name, ends[entry.name]));
    }
    return {};
  }

  Result<> append_all(bool stops) {
    TRY_ASSIGN(
        const auto archive,
        Archive::open(
            {.folder = archives_, .software = "mill", .prefix = "mill", .bytes_max = kFileBytes}));
    while (noted_ < kCaptures) {
      TRY_ASSIGN(const ArchiveEntry entry, archive->append(capture(noted_)));
      if (stops && noted_ == kStopsAt) TRY(stop_once());
      journal_ += fmt::format("{} {}\n", entry.filename, entry.end);
      TRY(io::write_file_durably(journal_path_, journal_));
      ++noted_;
    }
    return {};
  }

  Result<> stop_once() const {
    const std::filesystem::path stopped = archives_.parent_path() / "stopped";
    TRY_ASSIGN(const bool before, io::path_exists(stopped));
    if (before) return {};
    TRY(io::write_file_durably(stopped, ""));
    ::kill(::getpid(), SIGKILL);
    return {};
  }

  Result<std::string> outcome() const {
    std::vector<std::string> records;
    TRY_ASSIGN(const auto entries, io::list_folder(archives_, kFilesMax));
    for (const io::FolderEntry& entry : entries) {
      TRY_ASSIGN(const auto reader, Archive::read_at(archives_ / entry.name, 0));
      while (true) {
        TRY_ASSIGN(const auto record, reader->next());
        if (!record) break;
        TRY_ASSIGN(const RecordCheck check, verify_record(*reader, *record));
        if (check.block != DigestState::Right) return Error{Errc::Corrupt, record->url};
        if (!record->url.empty()) records.push_back(record->type + " " + record->url + "\n");
      }
    }
    std::sort(records.begin(), records.end());
    return fmt::format("{}", fmt::join(records, ""));
  }

 private:
  std::filesystem::path archives_;
  std::filesystem::path journal_path_;
  std::string journal_;
  int noted_ = 0;
};

Result<> run(const std::string& folder, const std::string& order) {
  TRY(arm_crash_from_environment());
  Mill mill(folder);
  TRY(mill.recover(order != "uncut"));
  TRY(mill.append_all(order == "stops"));
  TRY_ASSIGN(const std::string outcome, mill.outcome());
  fmt::print("{}", outcome);
  return {};
}

}  // namespace
}  // namespace quern::web

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto result = quern::web::run(argv[1], argv[2]);
  if (result.ok()) return 0;
  fmt::print(stderr, "{}\n", result.error().message());
  return 1;
}
