#include "blob/digest.h"
#include "fileset/file_meta.h"
#include "fileset/landing.h"
#include "fileset/part_note.h"
#include "fileset/wayback.h"
#include "queue/await.h"

namespace quern::fileset {
namespace {

// What the capture's bytes are, once they lie in a file.
struct Looked {
  FileMeta meta;
  bool broken = false;  // its gzip coding
};
Result<Looked> look_at(const std::filesystem::path& part, const Downloaded& got,
                       const std::string& cdx_mimetype, const WaybackOptions& options) {
  Looked looked;
  looked.meta = {got.size, got.md5, got.sha1, got.sha256, {}};
  TRY_ASSIGN(looked.meta.mimetype, mimetype_of_file(part));
  // Otherwise a file that is gzip by itself is left as it is.
  if (options.compat != Compat::Strict) return looked;
  Result<std::optional<FileMeta>> inner =
      gunzipped_meta(part, cdx_mimetype, options.file_bytes_max);
  if (!inner.ok()) {
    looked.broken = true;
  } else if (*inner) {
    looked.meta = **std::move(inner);
  }
  return looked;
}

}  // namespace

net::Task<std::optional<Kept>> Wayback::find_file(const ManifestFile& file) {
  return look_for(file);
}

net::Task<std::optional<Kept>> Wayback::look_for(ManifestFile file) {
  std::string url = file.platform_url;
  std::string mimetype = file.mimetype;
  Found found = co_await look_up(std::move(url), std::move(mimetype));
  if (found.status == "no-capture") co_return std::nullopt;
  Kept kept = co_await kept_of(std::move(found), std::move(file));
  // Another version of the file, or an error page: a new capture may be the right one.
  const bool useless = kept.status != "success" && !kept.passing;
  if (useless && options_.compat == Compat::Default) co_return std::nullopt;
  co_return kept;
}

net::Task<Kept> Wayback::keep_file(const ManifestFile& file, const Downloaded* downloaded,
                                   const std::filesystem::path& /*part*/) {
  ManifestFile wanted = file;
  // What was verified here is what the capture must be.
  if (downloaded != nullptr && downloaded->status == "verified-local") {
    wanted.size = downloaded->size;
    wanted.md5 = downloaded->md5;
    wanted.sha1 = downloaded->sha1;
    wanted.sha256 = downloaded->sha256;
  }
  return save_file(std::move(wanted));
}

net::Task<Kept> Wayback::save_file(ManifestFile file) {
  if (!options_.spn_on) {
    Kept kept;
    kept.status = "no-capture";
    kept.message = "Save Page Now is off, and the archive has no capture of " + file.platform_url;
    kept.capture.terminal_url = file.platform_url;
    co_return kept;
  }
  std::string url = file.platform_url;
  Found found = co_await save(std::move(url));
  Kept kept = co_await kept_of(std::move(found), std::move(file));
  if (kept.status == "wayback-error") kept.status = "spn2-wayback-error";
  co_return kept;
}

// Reads the capture, and looks whether it is the file.
net::Task<Kept> Wayback::kept_of(Found found, ManifestFile file) {
  Kept kept;
  kept.status = found.status;
  kept.message = found.message;
  kept.passing = found.passing;
  kept.capture.terminal_url = found.row.url.empty() ? found.url : found.row.url;
  kept.capture.terminal_dt = found.row.datetime;
  kept.capture.status_code = found.row.status.value_or(0);
  if (found.status != "success") co_return kept;
  DownloadOrder order;
  order.url = replay_url(found.row);
  // Named by what it is: after a death it is gone on with.
  order.part = options_.scratch / (blob::hex_of(blob::sha1_of(order.url)) + ".part");
  order.bytes_max = options_.file_bytes_max;
  const std::filesystem::path part = order.part;
  Downloaded got = co_await outside_.download(std::move(order));
  if (got.status != "verified-local") {
    kept.status = got.status == "too-large-size" ? "mismatch" : "wayback-error";
    kept.message = got.message;
    kept.passing = got.passing;
    co_return kept;
  }
  std::filesystem::path read = part;
  kept = co_await verified(std::move(found), std::move(file), std::move(got), std::move(read));
  auto clear = [part] { return remove_part(part); };
  (void)co_await queue::offload(loop_, pool_, std::move(clear));
  co_return kept;
}

net::Task<Kept> Wayback::verified(Found found, ManifestFile file, Downloaded got,
                                  std::filesystem::path part) {
  Kept kept;
  kept.capture.terminal_url = found.row.url;
  kept.capture.terminal_dt = found.row.datetime;
  kept.capture.status_code = found.row.status.value_or(got.http_status);
  kept.capture.cdx = to_json(found.row);
  if (web::find_header(got.headers, "X-Archive-Src").empty()) {
    kept.status = "wayback-error";
    kept.message = "the replay answered, but not from an archive";
    co_return kept;
  }
  auto look = [part, got, mimetype = found.row.mimetype, options = options_] {
    return look_at(part, got, mimetype, options);
  };
  Result<Looked> looked = co_await queue::offload(loop_, pool_, std::move(look));
  if (!looked.ok()) {
    kept.status = "wayback-error";
    kept.message = looked.error().message();
    kept.passing = true;
    co_return kept;
  }
  kept.capture.meta = looked->meta;
  if (looked->broken) {
    kept.status = "transfer-encoding-error";
    kept.message = "its gzip coding is broken";
    co_return kept;
  }
  if (options_.compat == Compat::Strict && looked->meta.size == 0) {
    kept.status = "empty-blob";
    kept.message = "the capture has no bytes";
    co_return kept;
  }
  kept.message = mismatch_of(file, looked->meta, options_.compat);
  kept.status = kept.message.empty() ? "success" : "mismatch";
  co_return kept;
}

}  // namespace quern::fileset
