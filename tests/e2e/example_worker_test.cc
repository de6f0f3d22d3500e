// The worker of docs/examples, as a newcomer would start it.
#include <gtest/gtest.h>

#include "e2e/http_fixture.h"
#include "support/program.h"

namespace quern::e2e {
namespace {

class ExampleWorkerTest : public ServedTest {
 protected:
  // Texts are ours. Office is the example's alone: the server would start a worker of its own for
  // what waits long, on a busy machine.
  void SetUp() override {
    server_ = folder_.start({"serve", "--listen", "127.0.0.1:0", "--steps", "Detect=1,Text=1"});
    const auto line = server_->wait_for_line(support::Output::Standard, "http://");
    CHECK_OK(line);
    address_ = line->substr(line->find("http://"));
  }
};

TEST_P(ExampleWorkerTest, TurnsAFileIntoAChildThatBecomesADocument) {
  const std::string program = QUERN_SOURCE "/docs/examples/worker.py";
  const auto worker =
      support::Program::start({"/usr/bin/python3", {program, address_, "Office"}, {}, {}});
  ASSERT_TRUE(worker.ok()) << worker.error().message();
  // A step that nobody serves is an error at once: first it must have asked.
  const auto give_up = std::chrono::steady_clock::now() + support::kProgramPatience;
  std::int64_t workers = 0;
  while (workers == 0 && std::chrono::steady_clock::now() < give_up) {
    const boost::json::object steps = get_json("/api/v1/steps");
    for (const boost::json::value& step : steps.at("items").as_array()) {
      if (step.at("step").as_string() == "Office") workers = step.at("workers").as_int64();
    }
  }
  ASSERT_EQ(workers, 1);

  const std::string files = "/api/v1/collections/default/files?content_type=application/msword";
  ASSERT_EQ(post(files + "&filename=a.doc", "twelve bytes").status, 201);
  ASSERT_EQ(post(files + "&filename=empty.doc", "").status, 201);
  ASSERT_TRUE(becomes("/api/v1/jobs/1", "state", "done"));
  ASSERT_TRUE(becomes("/api/v1/jobs/2", "state", "done"));
  const boost::json::object documents = get_json("/api/v1/documents?text=1");
  ASSERT_EQ(documents.at("items").as_array().size(), 1U);
  const boost::json::value& document = documents.at("items").as_array()[0];
  EXPECT_EQ(document.at("filename").as_string(), "a.doc.txt");
  EXPECT_EQ(document.at("text").as_string(), "a.doc has 12 bytes\n");
  const boost::json::object errors = get_json("/api/v1/errors");
  ASSERT_EQ(errors.at("items").as_array().size(), 1U);
  EXPECT_EQ(errors.at("items").as_array()[0].at("message").as_string(), "the file is empty");
}

INSTANTIATE_TEST_SUITE_P(Stores, ExampleWorkerTest, testing::Values(Store::Sqlite, Store::Postgres),
                         name_of);

}  // namespace
}  // namespace quern::e2e
