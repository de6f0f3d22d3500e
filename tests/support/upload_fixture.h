// For tests of /api/v1/uploads in this process: the resource over a real SQLite store, with a disk
// that can fail and a time that can pass.
#pragma once

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "api/upload_folder.h"
#include "api/upload_receiver.h"
#include "api/uploads.h"
#include "base/base64.h"
#include "blob/digest.h"
#include "io/file.h"
#include "model/tus.h"
#include "net/raw_peer.h"
#include "queue/locked_partitions.h"
#include "step/renderer.h"
#include "support/fake_clock.h"
#include "support/temp_folder.h"
#include "tree/file.h"

namespace quern::api {

using tree::Upload;

inline constexpr char kTus[] = "Tus-Resumable: 1.0.0\r\n";
inline constexpr char kPiece[] = "Content-Type: application/offset+octet-stream\r\n";
inline constexpr char kAll[] = "/api/v1/uploads";

struct Told {
  int status = 0;
  std::string head;
  std::string body;

  std::string field(std::string_view name) const {
    const std::string begin = fmt::format("\r\n{}: ", name);
    const auto at = head.find(begin);
    if (at == std::string::npos) return "";
    return head.substr(at + begin.size(), head.find("\r\n", at + 2) - at - begin.size());
  }
};

class UploadsTest : public testing::Test {
 protected:
  UploadsTest() { CHECK_OK(open()); }
  ~UploadsTest() override { close(); }

  Result<> open() {
    store::DatabaseOptions options;
    options.clock = &clock_;
    TRY_ASSIGN(const auto url,
               store::DatabaseUrl::parse("sqlite:" + (folder_ / "store.db").string()));
    TRY_ASSIGN(database_, store::Database::open(url, options));
    store::WriterOptions writer;
    writer.guard = std::make_shared<queue::PartitionGuard>();
    TRY_ASSIGN(writer_, store::Writer::open(*database_, writer));
    TRY_ASSIGN(readers_, store::Readers::open(*database_, {}));
    pool_ = std::make_unique<io::Pool>(io::PoolOptions{});
    blob::BlobUrl blobs;
    blobs.kind = blob::BlobUrl::Kind::Folder;
    blobs.folder = folder_ / "blobs";
    TRY_ASSIGN(blobs_,
               blob::BlobStore::open(blobs, *writer_, *readers_, blob::BlobStore::Owner::Only));
    auto router = std::make_shared<std::shared_ptr<const Router>>();
    server_ = std::make_unique<net::ServerOnThread>(
        net::ServerOptions{},
        [router](net::Exchange& exchange) { return (*router)->handle(exchange); });
    pipeline_ = std::make_shared<step::Pipeline>(
        step::PipelineParts{server_->loop(), *writer_, *readers_, *pool_, *blobs_},
        pipeline_options_, step::PipelineEvents{});
    renderer_ = std::make_shared<step::Renderer>(pipeline_, [](queue::PartitionId) {});
    parts_ = std::make_shared<Parts>(
        Parts{server_->loop(), *writer_, *readers_, *pool_, *blobs_, *pipeline_, *renderer_});
    parts_->data = folder_.path();
    parts_->poke = [](queue::PartitionId) {};
    auto made = std::make_shared<Router>(
        std::make_shared<Access>(HostRule::AnyHost, Access::Lookup()), Scope(Scope::Owner()));
    add_upload_routes(*made, parts_);
    *router = made;
    return {};
  }
  void close() {
    if (!server_) return;
    server_->stop(0);
    server_->on_loop([this] {
      pipeline_->stop();
      return 0;
    });
    server_.reset();
    writer_->stop();
    readers_->stop();
    renderer_.reset();
    pipeline_.reset();
    pool_.reset();
    blobs_.reset();
    parts_.reset();
    readers_.reset();
    writer_.reset();
    database_.reset();
  }
  // Another process takes over.
  void reopen() {
    close();
    CHECK_OK(open());
  }
  void recover() {
    const Result<> begun = server_->on_loop([this] { return recover_uploads(parts_); });
    CHECK_OK(begun);
    // Jobs begin in order, and the pool waits for those that have begun.
    std::promise<void> turn;
    io::Pool::Job job = [&turn](io::Pool::Call) { turn.set_value(); };
    CHECK(pool_->try_push(job));
    turn.get_future().wait();
    pool_->stop();
    reopen();
  }

  Told ask(std::string_view method, std::string_view target, const std::string& fields = kTus,
           std::string_view body = {}) {
    net::RawPeer peer = server_->peer();
    std::string all = fields;
    if (body.empty() && method != "HEAD") all += "Content-Length: 0\r\n";
    peer.send(net::request_text(method, target, all, body));
    return read(peer, method);
  }
  static Told read(net::RawPeer& peer, std::string_view method = "PATCH") {
    const std::string text = method == "HEAD" ? peer.read_until("\r\n\r\n") : peer.read_answer();
    const auto end = text.find("\r\n\r\n");
    Told told;
    if (text.size() < 12 || end == std::string::npos) return told;
    told.status = std::stoi(text.substr(9, 3));
    told.head = text.substr(0, end + 2);
    told.body = text.substr(end + 4);
    return told;
  }
  static std::string creation(std::int64_t length, model::TusMetadata metadata) {
    return fmt::format("{}Upload-Length: {}\r\nUpload-Metadata: {}\r\n", kTus, length,
                       model::format_tus_metadata(metadata));
  }
  // Its address.
  std::string begin(std::int64_t length, const std::string& filename = "a.txt") {
    const Told told = ask("POST", kAll, creation(length, {{"filename", filename}}));
    EXPECT_EQ(told.status, 201) << told.head << told.body;
    return told.field("Location");
  }
  Told patch(const std::string& address, std::int64_t offset, std::string_view body,
             const std::string& more = "") {
    return ask("PATCH", address,
               fmt::format("{}{}Upload-Offset: {}\r\n{}", kTus, kPiece, offset, more), body);
  }
  std::string offset(const std::string& address) {
    const Told told = ask("HEAD", address);
    return told.status == 200 ? told.field("Upload-Offset") : std::to_string(told.status);
  }
  Upload load(const std::string& address) {
    const std::string name = address.substr(address.rfind('/') + 1);
    return *readers_->run([&](store::Tx& tx) { return tree::load_upload(tx, name); });
  }
  tree::File root_of(const Upload& upload) {
    return *readers_->run([&](store::Tx& tx) { return tree::load_file(tx, upload.file); });
  }
  tree::Job job_of(const Upload& upload) {
    return *readers_->run([&](store::Tx& tx) { return tree::load_job(tx, upload.job); });
  }
  std::string bytes_of(const tree::File& file) {
    const auto blob = readers_->run(
        [&](store::Tx& tx) { return blob::load_blob(tx, *file.blob, blob::Data::With); });
    CHECK_OK(blob);
    const auto reader = blobs_->open_blob(*blob);
    CHECK_OK(reader);
    std::string bytes(static_cast<std::size_t>(blob->bytes), '\0');
    if (!bytes.empty()) CHECK_OK(reader->read_at(0, bytes));
    return bytes;
  }
  std::vector<std::string> part_files() {
    std::vector<std::string> names;
    const auto entries = io::list_folder(folder_ / "uploads", 1000);
    for (const io::FolderEntry& entry : *entries) {
      if (entry.name != "node.id") names.push_back(entry.name);
    }
    return names;
  }
  std::filesystem::path part_of(const std::string& address) {
    return folder_ / "uploads" / (address.substr(address.rfind('/') + 1) + ".part");
  }
  static std::string checksum_of(std::string_view bytes, bool right = true) {
    std::string digest = blob::sha256_of(bytes);
    if (!right) digest[0] ^= 1;
    return "Upload-Checksum: sha256 " + base64_encoded(digest) + "\r\n";
  }

  support::TempFolder folder_;
  support::FakeClock clock_;
  step::PipelineOptions pipeline_options_;
  std::unique_ptr<store::Database> database_;
  std::unique_ptr<store::Writer> writer_;
  std::unique_ptr<store::Readers> readers_;
  std::unique_ptr<io::Pool> pool_;
  std::unique_ptr<blob::BlobStore> blobs_;
  std::unique_ptr<net::ServerOnThread> server_;
  std::shared_ptr<step::Pipeline> pipeline_;
  std::shared_ptr<step::Renderer> renderer_;
  std::shared_ptr<Parts> parts_;
};

}  // namespace quern::api
