// Goal: whatever the instant at which a server is killed while it shows web pages on paper, the
// rendering is absent or whole, asking again makes it, and nothing else differs. Method: `quern
// serve` on a folder with a crawl is asked for PDFs and thumbnails, killed at durable writes and at
// crash points (step.rendering.ordered, step.rendering.made, tree.rendering.blobs_stored,
// step.rendering.kept, and those of the store, the blobs and the queue), started and asked again;
// then the crawl is as it was, and each PDF is what the calm run made.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blob/digest.h"
#include "crash/crawl_scene.h"
#include "crash/resumes.h"
#include "support/kill_sweep.h"

namespace quern::crash {
namespace {

using support::Environment;
using support::Output;
using support::Program;
using support::ProgramOptions;
using support::SweepReport;
using support::World;
using testing::HasSubstr;

constexpr std::size_t kKills = 24;  // each takes seconds
constexpr std::size_t kPages = 2;
constexpr int kAsksMax = 100;

Result<std::shared_ptr<Program>> start_calmly(const ProgramOptions& options) {
  TRY_ASSIGN(std::shared_ptr<Program> program, Program::start(options));
  return program;
}

Result<> copy_folder(const std::filesystem::path& from, const std::filesystem::path& to) {
  using std::filesystem::copy_options;
  std::error_code failed;
  std::filesystem::copy(from, to, copy_options::recursive | copy_options::overwrite_existing,
                        failed);
  if (failed) return Error{Errc::Internal, failed.message()};
  return {};
}

// A server that may die; asked again, it is another one.
class Asked {
 public:
  Asked(World& world, Environment environment)
      : world_(world), environment_(std::move(environment)) {
    environment_.emplace_back("QUERN_STEPS", "Html=1");
  }

  // The body of an answer with status 200, however often somebody has to ask.
  Result<std::string> load(const std::string& target) {
    for (int i = 0; i < kAsksMax; ++i) {
      if (!api_) TRY(start());
      if (!api_) continue;
      const Result<net::Response> answer = api_->send(net::Method::Get, target);
      if (answer.ok() && answer->status == 200) return answer->body;
      if (answer.ok() && answer->status != 503) {
        return Error{Errc::Internal, target + ": " + answer->body};
      }
      if (!answer.ok()) TRY(bury());
    }
    return Error{Errc::Timeout, target + " is never answered"};
  }
  Result<> stop() {
    if (!api_) return {};
    (void)program_->signal(SIGTERM);
    api_.reset();
    TRY(program_->wait());
    return {};
  }

 private:
  Result<> start() {
    const ProgramOptions options{"quern", {"serve", "--listen", "127.0.0.1:0"}, environment_, {}};
    TRY_ASSIGN(program_, world_.start(options));
    const auto line = program_->wait_for_line(Output::Standard, "http://");
    if (!line.ok()) return bury();
    api_ = std::make_unique<Api>(line->substr(line->find("http://")));
    return {};
  }
  // Nothing but the kill that was ordered ends it.
  Result<> bury() {
    api_.reset();
    TRY_ASSIGN(const io::ExitStatus status, program_->wait());
    if (status.signal == SIGKILL) return {};
    return Error{Errc::Internal, status.text() + ": " + program_->text(Output::Error)};
  }

  World& world_;
  Environment environment_;
  std::shared_ptr<Program> program_;
  std::unique_ptr<Api> api_;
};

std::string told(std::string_view what, const std::string& bytes) {
  return fmt::format("{} {} {}\n", what, bytes.size(), blob::hex_of(blob::sha256_of(bytes)));
}

Result<std::string> show_pages(World& world, const Environment& environment) {
  Asked server(world, environment);
  TRY_ASSIGN(const std::string list, server.load("/api/v1/documents?limit=10"));
  const boost::json::value documents = boost::json::parse(list);
  std::string story;
  for (std::size_t i = 0; i < kPages; ++i) {
    const auto& line = documents.at("items").as_array().at(i).as_object();
    const std::string base = fmt::format("/api/v1/files/{}/", line.at("document").as_int64());
    TRY_ASSIGN(const std::string pdf, server.load(base + "pdf?wait=5"));
    TRY_ASSIGN(const std::string thumbnail, server.load(base + "thumbnail?wait=5"));
    story += std::string(line.at("filename").as_string()) + "\n" + told("pdf", pdf) +
             told("thumbnail", thumbnail);
  }
  TRY(server.stop());
  return story;
}

TEST(CrawlRenderingSweepTest, APageOnPaperIsAbsentOrWhole) {
  const support::TempFolder folder;
  CrawlScene beginning(folder.path(), start_calmly);
  CHECK_OK(beginning.prepare());
  beginning.set_site(1);
  CHECK_OK(beginning.crawl(1));
  const Result<std::string> before = beginning.outcome();
  CHECK_OK(before);
  const SweepReport report = support::kill_sweep(
      [&](World& world) -> Result<std::string> {
        TRY(copy_folder(folder.path(), world.folder()));
        CrawlScene scene(world.folder(), start_calmly);
        TRY_ASSIGN(const std::string pages, show_pages(world, scene.environment()));
        TRY_ASSIGN(const std::string outcome, scene.outcome());
        return pages + outcome;
      },
      {.parallel = 2, .visits_per_point_max = 2, .kills_max = kKills, .pace_varies = true});
  EXPECT_TRUE(report.failures.empty()) << report.text();
  EXPECT_THAT(report.outcome, HasSubstr(R"("clean":true)"));
  EXPECT_GT(report.kills, report.unreached) << report.text();
  for (const char* point : {"step.rendering.ordered", "step.rendering.made",
                            "tree.rendering.blobs_stored", "step.rendering.kept"}) {
    EXPECT_TRUE(report.visits_by_point.contains(point)) << point;
  }
  // What a reader sees of the crawl is what it saw before, but for its own requests' log.
  const std::string lists = before->substr(before->find("word0: "));
  EXPECT_THAT(report.outcome, HasSubstr(lists));
}

}  // namespace
}  // namespace quern::crash
