#include "fileset/check.h"

#include <fmt/format.h>

#include <charconv>

#include "blob/digest.h"
#include "fileset/file_row.h"
#include "fileset/outbox.h"
#include "fileset/persist.h"
#include "fileset/processor.h"
#include "fileset/request_row.h"
#include "fileset/status.h"
#include "io/file.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr std::size_t kProblemsMax = 1000;
constexpr std::int64_t kFilesCheckedAtOnce = 500;

constexpr Sql kNext{
    "SELECT r.job FROM fileset_request AS r LEFT JOIN job AS j ON j.id = r.job WHERE r.job > $1"
    " AND (j.id IS NULL OR NOT j.deleting) ORDER BY r.job LIMIT 1"};
constexpr Sql kSurroundings{
    "SELECT EXISTS (SELECT 1 FROM job WHERE id = $1),"
    " EXISTS (SELECT 1 FROM job WHERE id = $1 AND sealed),"
    " EXISTS (SELECT 1 FROM partition WHERE name = $2 AND declared)"};
constexpr Sql kFiles{
    "SELECT f.number, f.manifest, f.ended, f.status, f.sha256, b.sha256, b.bytes, f.capture"
    " FROM fileset_file AS f LEFT JOIN blob AS b ON b.id = f.blob"
    " WHERE f.job = $1 AND f.number > $2 ORDER BY f.number LIMIT $3"};
constexpr Sql kOrphan{
    "SELECT f.job FROM fileset_file AS f WHERE NOT EXISTS"
    " (SELECT 1 FROM fileset_request AS r WHERE r.job = f.job) ORDER BY f.job LIMIT 1"};
constexpr Sql kCaptured{"SELECT digest FROM capture WHERE warc = $1 AND warc_at = $2"};
constexpr Sql kRoots{
    "SELECT count(*) FROM file WHERE job = $1 AND parent IS NULL AND index_in_parent <= $2"};
constexpr Sql kMessage{"SELECT 1 FROM topic_message WHERE key = $1"};
constexpr Sql kFileResult{
    "SELECT 1 FROM ingest_file_result WHERE ingest_type = 'dataset' AND base_url = $1"};
constexpr Sql kFileMeta{"SELECT size_bytes FROM file_meta WHERE sha1hex = $1"};
constexpr Sql kCdx{"SELECT 1 FROM cdx WHERE url = $1 AND datetime = $2"};
constexpr Sql kGoing{"SELECT 1 FROM job WHERE id = $1 AND deleting"};

std::string text_in(const json::object* object, std::string_view key) {
  const json::value* value = object == nullptr ? nullptr : object->if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

const json::object* object_in(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value == nullptr ? nullptr : value->if_object();
}

json::object object_of(const std::string& text) {
  boost::system::error_code failed;
  const json::value value = json::parse(text, failed);
  return failed || !value.is_object() ? json::object() : value.get_object();
}

// What one request's files add up to.
struct Counted {
  std::int64_t files = 0;  // without the bundle
  std::int64_t kept = 0;
  std::int64_t roots = 0;  // that there would be, where it was ingested
  std::int64_t last = 0;
  bool bundle_kept = false;
};

class Check {
 public:
  Check(store::Readers& readers, const std::filesystem::path& parts)
      : readers_(readers), parts_(parts) {}

  Result<std::vector<std::string>> run() {
    TRY(check_requests());
    TRY(check_orphans());
    TRY(check_parts());
    return std::move(problems_);
  }

 private:
  void say(tree::JobId job, std::string_view problem) {
    if (problems_.size() >= kProblemsMax) return;
    problems_.push_back(fmt::format("dataset {}: {}", job, problem));
  }

  Result<> check_requests() {
    tree::JobId after;
    while (true) {
      auto next = [&after](Tx& tx) { return tx.find_value<tree::JobId>(kNext, after); };
      TRY_ASSIGN(const std::optional<tree::JobId> job, readers_.run(next));
      if (!job) return {};
      after = *job;
      Result<RequestRow> row = readers_.run([job](Tx& tx) { return load_request(tx, *job); });
      if (!row.ok() && row.error().kind() == Errc::Missing) continue;  // it was deleted meanwhile
      if (!row.ok() && row.error().kind() == Errc::Corrupt) {
        say(*job, row.error().message());
        continue;
      }
      TRY_ASSIGN(const RequestRow request, std::move(row));
      TRY(check_surroundings(*job));
      TRY_ASSIGN(const Counted counted, check_files(request));
      if (request.state == RequestState::Ended) TRY(check_ended(request, counted));
    }
  }

  // Judged by one read: what ends meanwhile is not taken for something that was forgotten.
  Result<> check_surroundings(tree::JobId job) {
    struct Seen {
      bool open = false;
      bool job = false;
      bool sealed = false;
      bool partition = false;
    };
    auto look = [job](Tx& tx) -> Result<std::optional<Seen>> {
      TRY_ASSIGN(const Rows going, tx.query(kGoing, job));
      const Result<RequestRow> row = load_request(tx, job);
      if (!row.ok() || !going.empty()) return std::optional<Seen>();
      TRY_ASSIGN(const Rows rows, tx.query(kSurroundings, job, partition_name(job)));
      return std::optional(Seen{row->state != RequestState::Ended, rows[0].get<bool>(0),
                                rows[0].get<bool>(1), rows[0].get<bool>(2)});
    };
    TRY_ASSIGN(const std::optional<Seen> seen, readers_.run(look));
    if (!seen) return {};
    if (!seen->job) say(job, "its job is gone");
    if (seen->open && !seen->partition) say(job, "it is open, but nobody would ever work on it");
    if (!seen->open && seen->job && !seen->sealed)
      say(job, "it has ended, but its job is not sealed");
    return {};
  }

  Result<Counted> check_files(const RequestRow& request) {
    Counted counted;
    std::int64_t after = kBundleNumber - 1;
    while (true) {
      auto page = [&](Tx& tx) { return tx.query(kFiles, request.job, after, kFilesCheckedAtOnce); };
      TRY_ASSIGN(const Rows rows, readers_.run(page));
      for (const Row row : rows) {
        after = row.get<std::int64_t>(0);
        counted.last = after;
        TRY(check_file(request, row, counted));
      }
      if (static_cast<std::int64_t>(rows.size()) < kFilesCheckedAtOnce) return counted;
    }
  }

  Result<> check_file(const RequestRow& request, const Row& row, Counted& counted) {
    const auto number = row.get<std::int64_t>(0);
    boost::system::error_code failed;
    const json::value manifest = json::parse(row.get<std::string>(1), failed);
    const Result<ManifestFile> parsed = parse_manifest_file(manifest);
    if (failed || !parsed.ok()) {
      say(request.job, fmt::format("file {} has no manifest that can be read", number));
      return {};
    }
    const ManifestFile& file = *parsed;
    const std::string status = row.is_null(3) ? "" : row.get<std::string>(3);
    const bool ended = row.get<bool>(2);
    const bool kept = ended && is_kept(status);
    if (number != kBundleNumber) {
      ++counted.files;
      if (kept) ++counted.kept;
    } else {
      counted.bundle_kept = kept;
    }
    if (!ended && request.state == RequestState::Ended) {
      say(request.job, fmt::format("it has ended, but {} has not", file.path));
    }
    if (ended && status != file.status) {
      say(request.job,
          fmt::format("{} is {}, but its manifest says {}", file.path, status, file.status));
    }
    if (!kept) return {};
    if (!row.is_null(5)) ++counted.roots;
    return check_kept(request, row, file, counted);
  }

  // A file that is called kept is a blob, a capture, or with somebody else; and it is the one that
  // its row describes.
  Result<> check_kept(const RequestRow& request, const Row& row, const ManifestFile& file,
                      const Counted& counted) {
    const auto wrong = [&](std::string_view what) {
      say(request.job, fmt::format("{}: {}", file.path, what));
    };
    const bool member = is_bundled(request.strategy) && row.get<std::int64_t>(0) != kBundleNumber;
    if (!row.is_null(5)) {
      const std::string sha256 = row.get<std::string>(5);
      if (blob::hex_of(sha256) != file.sha256 || row.is_null(4) ||
          row.get<std::string>(4) != sha256) {
        wrong("its blob has another SHA-256 than its row");
      }
      if (row.get<std::int64_t>(6) != file.size.value_or(-1)) {
        wrong("its blob has another size than its row");
      }
    } else if (member) {
      if (!counted.bundle_kept) wrong("it is kept, but the bundle that it lies in is not");
    } else if (row.is_null(7) && !is_item(request.strategy)) {
      wrong("it is kept, but neither a blob nor a capture has it");
    }
    if (row.is_null(7)) return {};
    return check_capture(request, object_of(row.get<std::string>(7)), file);
  }

  Result<> check_capture(const RequestRow& request, const json::object& capture,
                         const ManifestFile& file) {
    const json::object* cdx = object_in(capture, "cdx");
    const std::string warc = text_in(cdx, "warc_path");
    // Those of the Wayback Machine are its own.
    const bool own = warc.starts_with(kArchiveKind) && warc.find('/') == warc.npos;
    if (!own) return {};
    const json::value* offset = cdx->if_contains("warc_offset");
    const std::int64_t at = offset != nullptr && offset->is_int64() ? offset->get_int64() : -1;
    auto find = [&](Tx& tx) { return tx.find_value<std::string>(kCaptured, warc, at); };
    TRY_ASSIGN(const std::optional<std::string> digest, readers_.run(find));
    if (!digest) {
      say(request.job, fmt::format("{}: its capture in {} is not noted", file.path, warc));
    } else if (*digest != "sha1:" + text_in(cdx, "sha1b32")) {
      say(request.job, fmt::format("{}: its capture in {} is of other bytes", file.path, warc));
    } else if (!file.sha1.empty() && text_in(cdx, "sha1hex") != file.sha1) {
      say(request.job, fmt::format("{}: its capture has another SHA-1 than its row", file.path));
    }
    return {};
  }

  Result<> check_ended(const RequestRow& request, const Counted& counted) {
    const json::object result = object_of(request.result);
    const json::value* hit = result.if_contains("hit");
    const bool says_hit = hit != nullptr && hit->is_bool() && hit->get_bool();
    if (text_in(&result, "status") != request.status || says_hit != is_hit(request.status)) {
      say(request.job, "its result has another status than its row");
    }
    if (is_hit(request.status)) {
      if (counted.kept != counted.files || counted.files == 0) {
        say(request.job, fmt::format("it is {}, but only {} of its {} files are kept",
                                     request.status, counted.kept, counted.files));
      }
      TRY(check_rows_of(request, result));
      if (request.options.ingest) TRY(check_roots(request, counted));
    }
    return check_told(request, result);
  }

  Result<> check_roots(const RequestRow& request, const Counted& counted) {
    auto count = [&](Tx& tx) {
      return tx.value<std::int64_t>(kRoots, request.job, counted.last + 1);
    };
    TRY_ASSIGN(const std::int64_t roots, readers_.run(count));
    if (roots == counted.roots) return {};
    say(request.job, fmt::format("{} of its files are kept here, but {} entered the collection",
                                 counted.roots, roots));
    return {};
  }

  // What others read of a hit: its page's metadata and capture.
  Result<> check_rows_of(const RequestRow& request, const json::object& result) {
    const json::object* meta = object_in(result, "file_meta");
    const std::string sha1 = text_in(meta, "sha1hex");
    if (sha1.size() == 40) {
      auto find = [&](Tx& tx) { return tx.query(kFileMeta, sha1); };
      TRY_ASSIGN(const Rows rows, readers_.run(find));
      const json::value* size = meta->if_contains("size_bytes");
      if (rows.empty()) {
        say(request.job, "file_meta has no row of its page");
      } else if (size != nullptr && size->is_int64() && !rows[0].is_null(0) &&
                 size->get_int64() != rows[0].get<std::int64_t>(0)) {
        say(request.job, "file_meta has another size of its page");
      }
    }
    const json::object* cdx = object_in(result, "cdx");
    const std::string url = text_in(cdx, "url");
    const std::string datetime = text_in(cdx, "datetime");
    const bool stored = !text_in(cdx, "warc_path").empty() && datetime.size() == 14 &&
                        text_in(cdx, "sha1hex").size() == 40 && !url.empty() &&
                        url.size() <= kStoredTerminalBytesMax;
    if (!stored) return {};
    auto find = [&](Tx& tx) { return tx.query(kCdx, url, datetime); };
    TRY_ASSIGN(const Rows rows, readers_.run(find));
    if (rows.empty()) say(request.job, "cdx has no row of its page's capture");
    return {};
  }

  // Every end was published; of one that may be told apart, the row that others read is there.
  Result<> check_told(const RequestRow& request, const json::object& result) {
    const json::object* terminal = object_in(result, "terminal");
    const bool fits = request.request.base_url.size() <= kBaseUrlBytesMax &&
                      text_in(terminal, "terminal_url").size() <= kStoredTerminalBytesMax;
    auto find = [&](Tx& tx) { return tx.query(kFileResult, request.request.base_url); };
    TRY_ASSIGN(const Rows rows, readers_.run(find));
    if (rows.empty() && fits) say(request.job, "ingest_file_result has no row of it");
    if (request.result.size() > kTopicMessageBytesMax) return {};
    TRY_ASSIGN(bool published, is_published(request.job));
    if (!published) {
      // Perhaps its topic was not there when they were listed.
      TRY_ASSIGN(topics_, readers_.run([](Tx& tx) { return list_topics(tx); }));
      TRY_ASSIGN(published, is_published(request.job));
    }
    if (!published) say(request.job, "its result is in no topic");
    return {};
  }

  Result<bool> is_published(tree::JobId job) {
    return readers_.run([this, job](Tx& tx) -> Result<bool> {
      for (const Topic& topic : topics_) {
        if (!topic.name.ends_with(kFilesetResults)) continue;
        const std::string key = fmt::format("{}:{}", topic.name, job);
        TRY_ASSIGN(const Rows rows, tx.query(kMessage, key));
        if (!rows.empty()) return true;
      }
      return false;
    });
  }

  Result<> check_orphans() {
    auto find = [](Tx& tx) { return tx.find_value<tree::JobId>(kOrphan); };
    TRY_ASSIGN(const std::optional<tree::JobId> job, readers_.run(find));
    if (job) say(*job, "it has files, but there is no request");
    return {};
  }

  Result<> check_parts() {
    TRY_ASSIGN(const bool there, io::path_exists(parts_));
    if (!there) return {};
    TRY_ASSIGN(const auto entries, io::list_folder(parts_, kPartFoldersCheckedMax));
    for (const io::FolderEntry& entry : entries) {
      tree::JobId job;
      const char* const last = entry.name.data() + entry.name.size();
      const auto [end, odd] = std::from_chars(entry.name.data(), last, job.value);
      if (odd == std::errc{} && end == last) TRY(check_parts_of(job));
    }
    return {};
  }

  Result<> check_parts_of(tree::JobId job) {
    struct Seen {
      bool gone = false;
      std::vector<FileRow> files;
    };
    auto look = [job](Tx& tx) -> Result<std::optional<Seen>> {
      TRY_ASSIGN(const bool open, is_open(tx, job));
      TRY_ASSIGN(const bool fresh, has_ended_within(tx, job, kPartsGoUs));
      TRY_ASSIGN(const Rows going, tx.query(kGoing, job));
      if (open || fresh || !going.empty()) return std::optional<Seen>();
      Seen seen;
      const Result<RequestRow> row = load_request(tx, job);
      seen.gone = !row.ok() && row.error().kind() == Errc::Missing;
      TRY_ASSIGN(seen.files, list_files(tx, job));
      return std::optional(std::move(seen));
    };
    TRY_ASSIGN(const std::optional<Seen> seen, readers_.run(look));
    if (!seen) return {};
    const Result<std::vector<std::string>> names =
        list_stale_parts(parts_ / fmt::format("{}", job), seen->files);
    if (!names.ok() || names->empty()) return {};
    say(job, fmt::format("it {}, but {} part files of it are left, as {}",
                         seen->gone ? "is gone" : "has ended", names->size(), names->front()));
    return {};
  }

  store::Readers& readers_;
  const std::filesystem::path& parts_;
  std::vector<Topic> topics_;
  std::vector<std::string> problems_;
};

}  // namespace

Result<std::vector<std::string>> check_filesets(store::Readers& readers,
                                                const std::filesystem::path& parts) {
  return Check(readers, parts).run();
}

}  // namespace quern::fileset
