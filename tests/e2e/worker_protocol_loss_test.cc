// The conformance checklist of the worker protocol, items 9, 10, 12 and 13: workers and servers
// that die, jobs that are canceled, results that come too late.
#include "e2e/worker_protocol_fixture.h"

namespace quern::e2e {
namespace {

constexpr std::size_t kLargeBytes = 300'000;  // too large to lie in the database

// An archive of four members: two texts, a large one, and one that nobody takes.
std::string archive_body(std::string_view name) {
  Multipart body(Style::Archive);
  const std::string members[] = {"one", "two", std::string(kLargeBytes, 'x'), "four"};
  for (int i = 0; i < 4; ++i) {
    body.child(i, fmt::format("{}/{}.txt", name, i), i < 3 ? "text/plain" : "x/y")
        .part(fmt::format("{}.blob", i), members[i])
        .part("progress", fmt::format("0.{}", i + 1));
  }
  return body.part("done", "").close();
}

// How far a worker or server came before it died: the places behind these words.
std::vector<std::size_t> places_of_death(const std::string& body) {
  std::vector<std::size_t> places = {0, body.size() - 1};
  for (const char* word :
       {"0.json", "one", "1.json", "two", "2.json", "xxxxx", "3.json", "\"done\""}) {
    places.push_back(body.find(word) + 5);
  }
  places.push_back(body.find("3.json") - 200);  // in the midst of the large one
  return places;
}

class WorkerLossTest : public WorkerProtocolTest {
 protected:
  std::vector<std::string> calm_tree(WorkerPeer& peer) {
    const Added added = add("a.zip", "PK", "application/zip");
    EXPECT_EQ(peer.post_all(peer.take("Archive"), archive_body("a.zip")), 202);
    convert_texts(peer);
    EXPECT_TRUE(finishes(added.job));
    calm_blobs_ = blob_files();
    return tree(added.job);
  }
  // The files of the folder come to be as many as after the calm run: equal bytes lie there once.
  void expect_no_orphans() {
    // Servers that share a PostgreSQL cannot know that one of them is dead before its session has
    // expired, which takes minutes: tests/conformance/blob_session_test.cc moves the time.
    if (GetParam() == Store::Postgres) return expect_clean();
    const auto give_up = std::chrono::steady_clock::now() + support::kProgramPatience;
    while (blob_files() != calm_blobs_ && std::chrono::steady_clock::now() < give_up) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_EQ(blob_files(), calm_blobs_);
    expect_clean();
  }

  std::size_t calm_blobs_ = 0;
};
QUERN_ON_BOTH_STORES(WorkerLossTest);

TEST_P(WorkerLossTest, Wire09_AfterAClientsDeathTheTaskIsOfferedAgainAndTheTreeIsTheSame) {
  serve({{"QUERN_TASK_IDLE", "100"}, {"QUERN_POLL_HOLD", "100"}});
  WorkerPeer peer = worker();
  const std::vector<std::string> calm = calm_tree(peer);
  ASSERT_EQ(calm.size(), 12U) << "eight files, three documents, one error";
  const std::string body = archive_body("a.zip");
  for (const std::size_t place : places_of_death(body)) {
    const Added added = add("a.zip", "PK", "application/zip");
    const LentTask first = peer.take("Archive");
    FragmentPost post = peer.post(first);
    post.chunk(std::string_view(body).substr(0, place));
    post.die();
    const LentTask second = peer.take("Archive");
    EXPECT_EQ(second.file(), first.file());
    EXPECT_NE(second.id(), first.id());
    EXPECT_EQ(peer.head(first.path()), 404);
    EXPECT_EQ(peer.post_all(second, body), 202);
    convert_texts(peer);
    ASSERT_TRUE(finishes(added.job));
    EXPECT_EQ(tree(added.job), calm) << "died behind " << body.substr(0, place).substr(0, 300);
  }
  expect_no_orphans();
}

TEST_P(WorkerLossTest, Wire09_APostThatEndsEarlyIsContinuedByTheNext) {
  serve();
  WorkerPeer peer = worker();
  const std::vector<std::string> calm = calm_tree(peer);
  const Added added = add("a.zip", "PK", "application/zip");
  const LentTask task = peer.take("Archive");
  const std::string body = archive_body("a.zip");
  // Ends in the midst of a member's bytes, properly as far as HTTP is concerned: no error.
  FragmentPost post = peer.post(task);
  post.chunk(std::string_view(body).substr(0, body.find("two") + 1));
  EXPECT_EQ(post.finish().status, 202);
  // The cut part was never kept: its member comes again, behind those that are known.
  const std::size_t again = body.rfind("--", body.find("1.blob"));
  EXPECT_EQ(peer.post_all(task, std::string_view(body).substr(again)), 202);
  convert_texts(peer);
  ASSERT_TRUE(finishes(added.job));
  EXPECT_EQ(tree(added.job), calm);
}

TEST_P(WorkerLossTest, Wire10_AfterTheServersDeathTheTreeIsTheSame) {
  serve({{"QUERN_POLL_HOLD", "100"}});
  const std::vector<std::string> calm = [this] {
    WorkerPeer peer = worker();
    return calm_tree(peer);
  }();
  const std::string body = archive_body("a.zip");
  for (const std::size_t place : places_of_death(body)) {
    const Added added = add("a.zip", "PK", "application/zip");
    {
      WorkerPeer peer = worker();
      const LentTask task = peer.take("Archive");
      FragmentPost post = peer.post(task);
      post.chunk(std::string_view(body).substr(0, place));
      // What is whole is stored while the POST is open; wait for something of it, where there is.
      if (place > body.find("2.json")) EXPECT_EQ(peer.take("Text").filename(), "a.zip/0.txt");
      server_->kill();
      // The client sees its connection end, as it would; its supervisor starts it again.
      EXPECT_EQ(post.peer().read_to_end(), "");
    }
    kill_and_restart();
    WorkerPeer peer = worker();
    EXPECT_EQ(peer.post_all(peer.take("Archive"), body), 202);
    convert_texts(peer);
    ASSERT_TRUE(finishes(added.job));
    EXPECT_EQ(tree(added.job), calm) << "died behind " << body.substr(0, place).substr(0, 300);
  }
  expect_no_orphans();
}

TEST_P(WorkerLossTest, Wire10_WhatWasAcceptedSurvivesTheServersDeath) {
  serve();
  const Added added = add("a.txt", "a", "text/plain");
  {
    WorkerPeer peer = worker();
    const LentTask task = peer.take("Text");
    EXPECT_EQ(peer.post_all(task, document_body(Style::Email, "a.txt", "kept")), 202);
  }
  kill_and_restart();
  EXPECT_TRUE(finishes(added.job));
  EXPECT_EQ(texts(added.job), std::vector<std::string>{"kept"});
  WorkerPeer peer = worker();
  EXPECT_TRUE(peer.finds_nothing("Text"));
}

TEST_P(WorkerLossTest, Wire12_CancelEndsWhatIsNotLentAtOnceAndWhatIsLentWhenTouched) {
  serve();
  const std::int64_t job = add_many({"0.txt", "1.txt", "2.txt", "3.txt"}, "text/plain");
  WorkerPeer peer = worker();
  const LentTask first = peer.take("Text");
  EXPECT_EQ(peer.post_all(first, document_body(Style::Email, first.filename(), "made")), 202);
  const LentTask lent = peer.take("Text");
  EXPECT_EQ(post(fmt::format("/api/v1/jobs/{}/cancel", job)).status, 200);
  EXPECT_TRUE(becomes(fmt::format("/api/v1/jobs/{}", job), "errors", "3"));
  EXPECT_EQ(peer.head(lent.path()), 404);
  EXPECT_TRUE(becomes(fmt::format("/api/v1/jobs/{}", job), "state", "canceled"));
  EXPECT_TRUE(peer.finds_nothing("Text"));
  EXPECT_EQ(texts(job), std::vector<std::string>{"made"}) << "what was made stays";
  for (const std::string& error : errors(job)) {
    EXPECT_NE(error.find("canceled: canceled"), std::string::npos) << error;
  }
  EXPECT_EQ(errors(job).size(), 3U);
}

TEST_P(WorkerLossTest, Wire12_TheBodyOfACanceledTaskIsReadToItsEndSoThatTheClientLives) {
  serve();
  const Added added = add("a.txt", "a", "text/plain");
  WorkerPeer peer = worker();
  const LentTask task = peer.take("Text");
  FragmentPost sending = peer.post(task);
  Multipart body(Style::SingleFile);
  sending.chunk(body.child(0, "a.txt", "application/pdf").cut_part("0.blob", kPdf).take());
  EXPECT_EQ(post(fmt::format("/api/v1/jobs/{}/cancel", added.job)).status, 200);
  EXPECT_TRUE(becomes(fmt::format("/api/v1/jobs/{}", added.job), "state", "canceled"));
  EXPECT_EQ(peer.head(task.path()), 404);
  const std::string more(1024 * 1024, 'x');
  for (int i = 0; i < 20; ++i) {
    sending.chunk(more);
    ASSERT_FALSE(sending.was_answered_early()) << "an early answer kills the client";
  }
  sending.chunk(body.part("0.txt", "late").part("done", "").close());
  EXPECT_EQ(sending.finish().status, 404);
  EXPECT_EQ(errors(added.job), std::vector<std::string>{"a.txt canceled: canceled"});
  EXPECT_EQ(texts(added.job), std::vector<std::string>{});
}

TEST_P(WorkerLossTest, Wire13_ALateResultIsReadAnswered404AndChangesNothing) {
  serve({{"QUERN_TASK_IDLE", "100"}, {"QUERN_POLL_HOLD", "100"}});
  const Added added = add("a.txt", "a", "text/plain");
  WorkerPeer peer = worker();
  const LentTask late = peer.take("Text");
  const LentTask again = peer.take("Text");  // the first was silent for too long
  EXPECT_EQ(again.file(), late.file());
  FragmentPost post = peer.post(late);
  const std::string more(1024 * 1024, 'x');
  post.chunk(Multipart(Style::SingleFile).cut_part("0.blob", "").take());
  for (int i = 0; i < 10; ++i) {
    post.chunk(more);
    ASSERT_FALSE(post.was_answered_early());
    EXPECT_EQ(peer.head(again.path()), 200);  // its worker is alive
  }
  EXPECT_EQ(post.finish().status, 404);
  EXPECT_EQ(peer.post_all(late, document_body(Style::Email, "a.txt", "late")), 404);
  EXPECT_EQ(peer.post_one(late, "done", ""), 404);
  EXPECT_EQ(peer.get(late.path() + "/blob").status, 404);
  EXPECT_EQ(peer.post_all(again, document_body(Style::Email, "a.txt", "in time")), 202);
  EXPECT_EQ(peer.post_all(again, document_body(Style::Email, "a.txt", "twice")), 404);
  ASSERT_TRUE(finishes(added.job));
  EXPECT_EQ(texts(added.job), std::vector<std::string>{"in time"});
}

TEST_P(WorkerLossTest, Wire13_AnOpenPostIsNeverTooSilentAndARequestRestartsTheClock) {
  serve({{"QUERN_TASK_IDLE", "200"}, {"QUERN_POLL_HOLD", "700"}});
  const Added added = add("a.txt", "a", "text/plain");
  WorkerPeer peer = worker();
  WorkerPeer other = worker();
  const LentTask task = peer.take("Text");
  FragmentPost post = peer.post(task);
  post.chunk(Multipart(Style::SingleFile).cut_part("0.json", "").take());
  EXPECT_TRUE(other.finds_nothing("Text"))
      << "three idle times, and the task is still its worker's";
  EXPECT_EQ(post.finish().status, 202);
  EXPECT_EQ(peer.post_all(task, document_body(Style::Email, "a.txt", "x")), 202);
  EXPECT_TRUE(finishes(added.job));
}

}  // namespace
}  // namespace quern::e2e
