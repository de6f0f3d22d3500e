// Goal: whatever the instant at which a server is killed, uploads end as if nothing had happened:
// each file is there once, with its bytes; what was dropped is not; no part file is left.
// Method: the server is killed at each durable write and at each crash point (tree.upload.created,
// tree.upload.done, tree.upload.dropped, tree.root.written and those of the store) of its life; its
// client asks how far an upload is and goes on there, or begins again with the same key.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/base64.h"
#include "blob/digest.h"
#include "crash/resumes.h"
#include "io/file.h"
#include "model/tus.h"
#include "net/target.h"
#include "support/kill_sweep.h"
#include "support/postgres.h"

namespace quern::crash {
namespace {

using support::Output;
using support::Program;
using support::SweepReport;
using support::World;

constexpr std::chrono::milliseconds kLookAgain{10};
constexpr char kAll[] = "/api/v1/uploads";

// A server that is started again whenever it has died, and requests to it.
class Service {
 public:
  Service(World& world, const std::string& database) : world_(world) {
    environment_ = {{"QUERN_DATA", (world.folder() / "data").string()}};
    if (!database.empty()) environment_.emplace_back("QUERN_DB", database);
  }

  // One attempt. Unavailable where the server dies over it.
  Result<net::Response> send(net::Method method, std::string target, std::string body,
                             net::Headers headers) {
    TRY(ensure_running());
    net::Request request;
    request.method = method;
    request.target = std::move(target);
    request.body = std::move(body);
    request.headers = std::move(headers);
    request.headers.set("Tus-Resumable", model::kTusVersion);
    net::Client client(loop_, endpoint_, {});
    return loop_.run_until(client.fetch(std::move(request), 1 << 20));
  }
  // Until it is answered by somebody who is well: for what is harmless to repeat.
  Result<net::Response> ask(net::Method method, const std::string& target,
                            const std::string& body = "", const net::Headers& headers = {}) {
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    std::string last;
    while (std::chrono::steady_clock::now() < give_up) {
      const Result<net::Response> answer = send(method, target, body, headers);
      if (answer.ok() && answer->status < 500) return answer;
      last = answer.ok() ? answer->body : answer.error().message();
      std::this_thread::sleep_for(kLookAgain);
    }
    return Error{Errc::Timeout, "never answered: " + last};
  }
  Result<boost::json::object> load(const std::string& target) {
    TRY_ASSIGN(const net::Response answer, ask(net::Method::Get, target));
    boost::system::error_code failed;
    boost::json::value value = boost::json::parse(answer.body, failed);
    if (answer.status != 200 || failed) return Error{Errc::Internal, target + ": " + answer.body};
    return std::move(value.as_object());
  }
  // The next request starts it again.
  Result<> stop() {
    TRY(ensure_running());
    TRY(server_->signal(SIGTERM));
    TRY(server_->wait());
    return {};
  }

 private:
  Result<> ensure_running() {
    while (server_ == nullptr || server_->has_ended()) {
      TRY_ASSIGN(server_, world_.start({"quern",
                                        {"serve", "--listen", "127.0.0.1:0", "--steps", "none",
                                         "--lease", "1", "--scan", "50", "--log-level", "error"},
                                        environment_,
                                        {}}));
      const Result<std::string> line = server_->wait_for_line(Output::Standard, "http://");
      if (line.ok()) {
        TRY_ASSIGN(endpoint_, net::Endpoint::parse(line->substr(line->find("http://") + 7)));
        return {};
      }
      TRY_ASSIGN(const io::ExitStatus ended, server_->wait());
      if (!ended.killed_by(SIGKILL)) return line.error();
    }
    return {};
  }

  World& world_;
  support::Environment environment_;
  net::Loop loop_;
  net::Endpoint endpoint_;
  std::shared_ptr<Program> server_;
};

// A type that nobody takes: the file is an error as soon as it is there, and its job ends.
std::string metadata_of(const std::string& name) {
  return model::format_tus_metadata(
      {{"filename", name}, {"content_type", "application/x-elf"}, {"collection", "sweep"}});
}

Result<std::string> begin(Service& service, const std::string& name, std::size_t length,
                          const std::string& first = "") {
  net::Headers headers{{"Upload-Length", std::to_string(length)},
                       {"Upload-Metadata", metadata_of(name)},
                       {"Idempotency-Key", "key-of-" + name}};
  if (!first.empty()) headers.set("Content-Type", "application/offset+octet-stream");
  TRY_ASSIGN(const net::Response answer, service.ask(net::Method::Post, kAll, first, headers));
  const std::string* location = answer.headers.find("Location");
  if (answer.status != 201 || location == nullptr) return Error{Errc::Internal, answer.body};
  return *location;
}

Result<std::size_t> offset_of(Service& service, const std::string& upload) {
  TRY_ASSIGN(const net::Response answer, service.ask(net::Method::Head, upload));
  const std::string* offset = answer.headers.find("Upload-Offset");
  if (answer.status != 200 || offset == nullptr) {
    return Error{Errc::Internal, fmt::format("HEAD: {}", answer.status)};
  }
  return std::stoull(*offset);
}

// In pieces, each asked for anew where the server dies over it. The offset never goes back.
Result<> send_rest(Service& service, const std::string& upload, const std::string& bytes,
                   std::size_t piece_bytes) {
  TRY_ASSIGN(std::size_t offset, offset_of(service, upload));
  while (offset < bytes.size()) {
    const std::string piece = bytes.substr(offset, piece_bytes);
    const std::string digest = base64_encoded(blob::sha256_of(piece));
    net::Headers headers{{"Upload-Offset", std::to_string(offset)},
                         {"Content-Type", "application/offset+octet-stream"}};
    if (offset > 0) headers.set("Upload-Checksum", "sha256 " + digest);
    const auto answer = service.send(net::Method::Patch, upload, piece, headers);
    const bool told = answer.ok() && answer->status == 204;
    TRY_ASSIGN(const std::size_t now, offset_of(service, upload));
    if (now < offset || (told && now < offset + piece.size())) {
      return Error{Errc::Corrupt, fmt::format("the offset fell from {} to {}", offset, now)};
    }
    offset = now;
  }
  return {};
}

std::string bytes_for(std::string_view name, std::size_t size) {
  std::string bytes;
  while (bytes.size() < size) bytes += fmt::format("{} {};", name, bytes.size());
  bytes.resize(size);
  return bytes;
}

// Whether the collection has this file with these bytes, and what became of its job.
Result<std::string> tell(Service& service, const std::string& name, const std::string& bytes) {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  TRY_ASSIGN(const std::string upload, begin(service, name, bytes.size()));
  TRY_ASSIGN(const boost::json::object told, service.load(upload));
  const std::string job = fmt::format("/api/v1/jobs/{}", told.at("job").as_int64());
  boost::json::object now;
  do {
    TRY_ASSIGN(now, service.load(job));
    std::this_thread::sleep_for(kLookAgain);
  } while (now.at("state").as_string() != "done" && std::chrono::steady_clock::now() < give_up);
  std::string known = "/api/v1/collections/sweep/known";
  net::append_query(known, "filename", name);
  net::append_query(known, "sha256", blob::hex_of(blob::sha256_of(bytes)));
  TRY_ASSIGN(const boost::json::object has, service.load(known));
  return fmt::format("{}: {} roots {} files {} errors {} bytes {} known {}\n", name,
                     std::string(now.at("state").as_string()), now.at("roots").as_int64(),
                     now.at("files").as_int64(), now.at("errors").as_int64(),
                     now.at("bytes").as_int64(), has.at("known").as_bool());
}

// A drop may have been done and not answered: then there is nothing any more.
Result<> drop(Service& service, const std::string& name) {
  TRY_ASSIGN(const std::string upload, begin(service, name, 100, bytes_for(name, 50)));
  TRY_ASSIGN(const net::Response gone, service.ask(net::Method::Delete, upload));
  if (gone.status == 204 || gone.status == 404) return {};
  return Error{Errc::Internal, gone.body};
}

Result<std::string> what_is_left(const World& world) {
  TRY_ASSIGN(const auto entries, io::list_folder(world.folder() / "data" / "uploads", 100));
  std::string text;
  for (const io::FolderEntry& entry : entries) {
    text += entry.name.ends_with(".part") ? "a part file\n" : entry.name + "\n";
  }
  return text;
}

// Every job ends: those of uploads that were dropped, too.
Result<std::string> running_jobs(Service& service) {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  int running = 0;
  do {
    running = 0;
    TRY_ASSIGN(const boost::json::object jobs,
               service.load("/api/v1/jobs?collection=sweep&limit=1000"));
    for (const boost::json::value& job : jobs.at("items").as_array()) {
      if (job.at("state").as_string() != "done") ++running;
    }
    std::this_thread::sleep_for(kLookAgain);
  } while (running > 0 && std::chrono::steady_clock::now() < give_up);
  return fmt::format("{} jobs run\n", running);
}

// The server writes by the clock, too, so a run may come to its ordered instant later than the calm
// run did. Other uploads, which are no part of the story, reach everything once more.
Result<> go_on_until_killed(World& world, Service& service) {
  for (int more = 1; world.kill_pending(); ++more) {
    const std::string name = fmt::format("more{}", more);
    TRY_ASSIGN(const std::string upload, begin(service, name, 40'000));
    TRY(send_rest(service, upload, bytes_for(name, 40'000), 30'000));
    TRY(drop(service, name + "-dropped"));
  }
  return {};
}

Result<std::string> tell_a_story(World& world, const std::string& database) {
  Service service(world, database);
  const std::string large = bytes_for("large", 50'000);  // lies in the folder of blobs
  TRY_ASSIGN(const std::string first,
             begin(service, "large", large.size(), large.substr(0, 20'000)));
  TRY(send_rest(service, first, large, large.size()));
  TRY(begin(service, "empty", 0));
  TRY(drop(service, "dropped"));
  TRY(go_on_until_killed(world, service));
  TRY_ASSIGN(std::string story, tell(service, "large", large));
  TRY_ASSIGN(const std::string empty, tell(service, "empty", ""));
  story += empty;
  TRY_ASSIGN(const std::string jobs, running_jobs(service));
  // A start sweeps what a death has left.
  TRY(service.stop());
  TRY_ASSIGN(const net::Response checked, service.ask(net::Method::Get, "/api/v1/check"));
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  TRY_ASSIGN(std::string left, what_is_left(world));
  while (left != "node.id\n" && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(kLookAgain);
    TRY_ASSIGN(left, what_is_left(world));
  }
  TRY(service.stop());
  return story + jobs + checked.body + "\n" + left;
}

constexpr char kStoryEnd[] =
    "large: done roots 1 files 1 errors 1 bytes 50000 known true\n"
    "empty: done roots 1 files 1 errors 1 bytes 0 known true\n"
    "0 jobs run\n"
    "{\"clean\":true,\"problems\":[]}\n"
    "node.id\n";

void expect_clean(const SweepReport& report) {
  EXPECT_TRUE(report.failures.empty()) << report.text();
  EXPECT_EQ(report.outcome, kStoryEnd);
  EXPECT_GE(report.writes, 30);
  EXPECT_GT(report.kills, report.unreached * 4) << report.text();
  for (const char* point : {"tree.upload.created", "tree.upload.done", "tree.upload.dropped",
                            "tree.root.written", "store.batch.committed"}) {
    EXPECT_TRUE(report.visits_by_point.contains(point)) << point << " was never reached";
  }
}

TEST(UploadSweepTest, EndsLikeTheCalmRunOnSqlite) {
  expect_clean(support::kill_sweep([](World& world) { return tell_a_story(world, ""); },
                                   {.parallel = 2,
                                    .visits_per_point_max = 2,
                                    .kills_max = support::kKillsOfSlowSweep,
                                    .pace_varies = true}));
}

TEST(UploadSweepTest, EndsLikeTheCalmRunOnPostgres) {
  support::ScratchDatabases databases;
  const auto scenario = [&databases](World& world) {
    return databases.lend(
        [&](const std::string& database) { return tell_a_story(world, database); });
  };
  expect_clean(support::kill_sweep(scenario, {.parallel = 3,
                                              .visits_per_point_max = 1,
                                              .every = 2,
                                              .kills_max = support::kKillsOfSlowSweep,
                                              .pace_varies = true}));
}

}  // namespace
}  // namespace quern::crash
