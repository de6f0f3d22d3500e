// download_mill FOLDER URL SHA256 ORDER: a program for the kill sweep of downloads.
//
// It downloads one file, and tells the server with a header how many bytes it finds noted as
// synced. ORDER: right; forgetful (loses its note at each start); stops (like right, but a start
// whose download breaks off kills itself).
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include "base/crash.h"
#include "fileset/net_outside.h"
#include "fileset/part_note.h"
#include "io/file.h"

namespace quern::fileset {
namespace {

constexpr std::int64_t kSyncBytes = 100'000;

Result<std::int64_t> synced_bytes(const std::filesystem::path& part) {
  TRY_ASSIGN(const bool there, io::path_exists(note_path(part)));
  if (!there) return 0;
  TRY_ASSIGN(const std::string text, io::read_file(note_path(part), kPartNoteBytesMax));
  TRY_ASSIGN(const PartNote note, parse_part_note(text));
  return note.synced;
}

Result<> run(const std::filesystem::path& folder, const std::string& url, const std::string& sha256,
             const std::string& order_name) {
  TRY(arm_crash_from_environment());
  TRY(io::make_folders_durably(folder / "files"));
  DownloadOrder order;
  order.url = url;
  order.part = folder / "files/part";
  order.sha256 = sha256;
  order.tries = order_name == "stops" ? 1 : 8;
  TRY_ASSIGN(const std::int64_t synced, synced_bytes(order.part));
  order.headers = {{"X-Synced", std::to_string(synced)}};
  if (order_name == "forgetful") {
    TRY(io::remove_durably(note_path(order.part), io::IfMissing::Fine));
  }
  net::Loop loop;
  io::Pool pool({.threads = 1});
  web::FetcherOptions options;
  options.user_agent = "mill";
  options.spool = folder;
  TRY_ASSIGN(const auto fetcher, web::Fetcher::open(std::move(options)));
  NetOutsideOptions net;
  net.backoff_ms = 1;
  net.part_sync_bytes = kSyncBytes;
  TRY_ASSIGN(net.allowed, web::AllowedHosts::parse("127.0.0.1"));
  NetOutside outside({loop, *fetcher, pool}, net);
  const Downloaded done = loop.run_until(outside.download(std::move(order)));
  if (done.status != "verified-local" && order_name == "stops") ::kill(::getpid(), SIGKILL);
  fmt::print("{} {} {} {}\n", done.status, done.size, done.sha256,
             web::find_header(done.headers, "ETag"));
  return {};
}

}  // namespace
}  // namespace quern::fileset

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const auto result = quern::fileset::run(argv[1], argv[2], argv[3], argv[4]);
  if (result.ok()) return 0;
  fmt::print(stderr, "{}\n", result.error().message());
  return 1;
}
