#include "fileset/keep_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "fileset/file_meta.h"
#include "fileset/wayback.h"
#include "queue/await.h"

namespace quern::fileset {
namespace {

bool is_odd_name(std::string_view name) {
  if (name.empty() || name == "." || name == "..") return true;
  return std::any_of(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f || c == '\\';
  });
}

void fill(std::string& into, const std::string& text) {
  if (into.empty()) into = text;
}

// The way in which the file was described becomes complete.
void fill_manifest(ManifestFile& file, const FileMeta& meta) {
  file.size = meta.size;
  fill(file.md5, meta.md5);
  fill(file.sha1, meta.sha1);
  fill(file.sha256, meta.sha256);
}

class Keeping {
 public:
  Keeping(const RequestRow& request, FileRow row, const Tools& tools, KeepParts parts,
          std::filesystem::path part)
      : request_(request), tools_(tools), parts_(parts), part_(std::move(part)) {
    end_.row = std::move(row);
    end_.row.tries += 1;
    item_ = is_item(request.strategy);
    strict_ = request.options.strict;
  }

  net::Task<KeepEnd> run() {
    ManifestFile& file = end_.row.file;
    const bool checked = !strict_ || item_;
    const std::string problem =
        checked ? path_problem(file.path, request_.strategy, strict_) : std::string();
    if (!problem.empty()) {
      fail("unsafe-path", problem);
    } else if (file.platform_url.empty()) {
      fail("error-platform-download", "the platform tells no address of this file");
    } else if (item_) {
      co_await keep_in_item();
    } else {
      co_await keep_on_the_web();
    }
    co_return std::move(end_);
  }

 private:
  void fail(std::string status, std::string message, bool passing = false) {
    end_.row.file.status = std::move(status);
    end_.row.message = std::move(message);
    end_.passing = passing;
  }

  web::HeaderList download_headers(const std::string& url) const {
    if (!request_.item || !tools_.platforms) return {};
    for (const std::unique_ptr<Platform>& platform : *tools_.platforms) {
      if (platform->name() != request_.item->platform_name) continue;
      return platform->download_headers(url);
    }
    return {};
  }

  // Whether the bytes are there and are the file's.
  net::Task<bool> download() {
    const ManifestFile& file = end_.row.file;
    DownloadOrder order;
    order.url = file.platform_url;
    order.headers = download_headers(file.platform_url);
    order.part = part_;
    order.size = file.size;
    order.md5 = file.md5;
    order.sha1 = file.sha1;
    order.sha256 = file.sha256;
    order.bytes_max = std::min(parts_.file_bytes_max, request_.options.bytes_max);
    got_ = co_await parts_.outside.download(std::move(order));
    end_.row.bytes += got_.wire_bytes;
    if (got_.status == "verified-local") {
      auto sniff = [part = part_] { return mimetype_of_file(part); };
      Result<std::string> type =
          co_await queue::offload(parts_.loop, parts_.pool, std::move(sniff));
      if (type.ok()) mimetype_ = *std::move(type);
      end_.has_bytes = true;
      co_return true;
    }
    const bool web_mismatch = strict_ && !item_ && got_.status.starts_with("mismatch-");
    fail(web_mismatch ? "mismatch" : got_.status, got_.message, got_.passing);
    co_return false;
  }

  void note_verified() {
    ManifestFile& file = end_.row.file;
    const FileMeta meta{got_.size, got_.md5, got_.sha1, got_.sha256, mimetype_};
    fill_manifest(file, meta);
    // What the bytes look like says more than a name, unless it is only that they are text.
    const bool better = item_ && !mimetype_.empty() && mimetype_ != "text/plain" &&
                        mimetype_ != "application/octet-stream";
    if (better) file.mimetype = mimetype_;
    fill(file.mimetype, mimetype_);
  }

  // What an archive says of it.
  void take(Kept kept) {
    ManifestFile& file = end_.row.file;
    file.status = kept.status;
    end_.row.message = kept.message;
    end_.passing = kept.passing;
    const bool captured = !kept.capture.terminal_url.empty();
    if (captured) {
      file.terminal_url = kept.capture.terminal_url;
      file.terminal_dt = kept.capture.terminal_dt;
    }
    if (is_kept(file.status) && end_.has_bytes) note_verified();
    if (is_kept(file.status) && !kept.capture.meta.sha1.empty()) {
      fill_manifest(file, kept.capture.meta);
      fill(file.mimetype, kept.capture.meta.mimetype);
    }
    if (captured && !kept.capture.cdx.empty()) end_.row.capture = std::move(kept.capture);
  }

  net::Task<> keep_in_item() {
    const bool there = co_await download();
    if (!there) co_return;
    const std::int64_t total = request_.item ? request_.item->total_size() : got_.size;
    ManifestFile file = end_.row.file;
    const FileMeta meta{got_.size, got_.md5, got_.sha1, got_.sha256, mimetype_};
    fill_manifest(file, meta);
    Kept kept = co_await tools_.items->upload(*request_.item, file, part_, total);
    take(std::move(kept));
    if (end_.row.file.status == "exists") end_.row.file.status = "success";
  }

  net::Task<> keep_on_the_web() {
    const ManifestFile file = end_.row.file;
    if (tools_.web->wants_bytes()) {
      const bool there = co_await download();
      if (!there) co_return;
      if (strict_ && got_.size == 0) {
        fail("empty-blob", "the file is empty");
        co_return;
      }
      Kept kept = co_await tools_.web->keep_file(file, &got_, part_);
      take(std::move(kept));
      co_return;
    }
    std::optional<Kept> found = co_await tools_.web->find_file(file);
    if (found) {
      take(*std::move(found));
      if (strict_ && end_.row.file.status == "exists") end_.row.file.status = "success";
      co_return;
    }
    if (request_.item && request_.item->manifest.size() > kSpnFilesMax) {
      fail("too-much-spn",
           fmt::format("captures of more than {} files are not asked for", kSpnFilesMax));
      co_return;
    }
    const std::filesystem::path none;
    Kept kept = co_await tools_.web->keep_file(file, nullptr, none);
    take(std::move(kept));
  }

  const RequestRow& request_;
  const Tools& tools_;
  const KeepParts parts_;
  const std::filesystem::path part_;
  KeepEnd end_;
  Downloaded got_;
  std::string mimetype_;
  bool item_ = false;
  bool strict_ = false;
};

}  // namespace

std::string path_problem(const std::string& path, const std::string& strategy, bool strict) {
  if (path.empty()) return "its path is empty";
  if (path.size() > kPathBytesMax) {
    return fmt::format("its path has more than {} bytes", kPathBytesMax);
  }
  std::size_t depth = 0;
  std::string_view rest = path;
  while (true) {
    const std::size_t slash = rest.find('/');
    if (is_odd_name(rest.substr(0, slash))) return "its path leads elsewhere, or has odd names";
    if (++depth > kPathDepthMax) return "its path is too deep";
    if (slash == rest.npos) break;
    rest.remove_prefix(slash + 1);
  }
  if (strict && depth > 2) return "its path is deeper than one folder";
  if (strict && is_item(strategy) && path == "name") return "'name' is reserved in an item";
  return "";
}

bool is_same_file(const ManifestFile& before, const ManifestFile& now) {
  const auto agree = [](const std::string& a, const std::string& b) {
    return a.empty() || b.empty() || a == b;
  };
  if (before.path != now.path || before.platform_url != now.platform_url) return false;
  if (now.size && before.size != now.size) return false;
  return agree(before.md5, now.md5) && agree(before.sha1, now.sha1) &&
         agree(before.sha256, now.sha256);
}

bool is_vouched_for(const ManifestFile& file) {
  return !file.md5.empty() || !file.sha1.empty() || !file.sha256.empty();
}

net::Task<KeepEnd> keep(const RequestRow& request, FileRow row, const Tools& tools, KeepParts parts,
                        std::filesystem::path part) {
  Keeping keeping(request, std::move(row), tools, parts, std::move(part));
  co_return co_await keeping.run();
}

}  // namespace quern::fileset
