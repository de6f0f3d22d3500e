// The weaknesses of the original server that can be shown from outside, by their numbers in the
// fact sheet, section 7: each is a test that fails on a server that has it.
#include "e2e/worker_protocol_fixture.h"
#include "support/proc.h"

namespace quern::e2e {
namespace {

using std::chrono::steady_clock;
using support::child_json;

class WorkerWeaknessTest : public WorkerProtocolTest {
 protected:
  std::string ledger(std::string_view name) {
    return field(get_json("/api/v1/collections/default/ledger"), name);
  }
};
QUERN_ON_BOTH_STORES(WorkerWeaknessTest);

TEST_P(WorkerWeaknessTest, Weak01_TasksThatTakeForEverDelayNoOtherJobsOtherSteps) {
  serve();
  std::vector<std::string> names;
  for (int i = 0; i < 300; ++i) names.push_back(fmt::format("{}.docx", i));
  const std::int64_t stuck = add_many(names, "application/msword");
  WorkerPeer office = worker();
  const LentTask one = office.take("Office");
  const LentTask two = office.take("Office");
  FragmentPost hanging = office.post(one);  // and says nothing more
  const std::int64_t other = add_many({"a.txt", "b.txt"}, "text/plain");
  const Added archive = add("c.zip", "PK", "application/zip");
  WorkerPeer peer = worker();
  convert_texts(peer);
  EXPECT_EQ(peer.post_one(peer.take("Archive"), "done", ""), 202);
  EXPECT_TRUE(finishes(other));
  EXPECT_TRUE(finishes(archive.job));
  EXPECT_EQ(state_of(stuck), "running");
}

TEST_P(WorkerWeaknessTest, Weak02_APoisonFileFailsAloneAfterThreeAttempts) {
  serve();
  const Added added = add("a.txt", "a", "text/plain");
  WorkerPeer peer = worker();
  for (int attempt = 1; attempt <= 3; ++attempt) {
    EXPECT_EQ(state_of(added.job), "running") << attempt;
    const LentTask task = peer.take("Text");
    const char* died = R"({"kind":"crash","message":"killed by signal 11","again":true})";
    EXPECT_EQ(peer.post_one(task, "failure", died), 202);
  }
  ASSERT_TRUE(finishes(added.job));
  EXPECT_EQ(errors(added.job), std::vector<std::string>{"a.txt crash: killed by signal 11"});
  EXPECT_TRUE(peer.finds_nothing("Text"));
}

TEST_P(WorkerWeaknessTest, Weak02_AWorkerThatNeverSaysDoneDoesNotGetTheFileForEver) {
  serve({{"QUERN_TASK_IDLE", "30"}, {"QUERN_POLL_HOLD", "200"}});
  const Added added = add("a.txt", "a", "text/plain");
  WorkerPeer peer = worker();
  int lent = 0;
  while (state_of(added.job) == "running" && lent < 100) {
    const HttpAnswer answer = peer.poll("Text");
    if (answer.status != 201) continue;
    ++lent;
    const LentTask task{answer.json()};
    // A close delimiter, and neither done nor error.
    EXPECT_EQ(peer.post_all(task, Multipart(Style::Email).part("progress", "0.5").close()), 202);
  }
  EXPECT_EQ(state_of(added.job), "done");
  EXPECT_GE(lent, 3);
  EXPECT_LE(lent, 25) << "a bounded number of times";
  EXPECT_EQ(errors(added.job).size(), 1U);
}

TEST_P(WorkerWeaknessTest, Weak03_ATaskIsNotGivenToAPollerThatHasGone) {
  serve({{"QUERN_POLL_HOLD", "5000"}});
  for (int round = 0; round < 5; ++round) {
    WorkerPeer peer = worker();
    net::RawPeer gone = peer.begin_poll("Text");
    net::RawPeer reset = peer.begin_poll("Text");
    ASSERT_TRUE(becomes_polled("Text", 2));
    gone.close();
    reset.reset();
    ASSERT_TRUE(becomes_polled("Text", 0));
    const Added added = add("a.txt", "a", "text/plain");
    convert_one(peer);
    EXPECT_TRUE(finishes(added.job)) << "the idle time is ten minutes";
  }
}

TEST_P(WorkerWeaknessTest, Weak03_AnyNumberOfPollersIsHeldAndNoneIsRefused) {
  serve({{"QUERN_POLL_HOLD", "1000"}});
  WorkerPeer peer = worker();
  std::vector<net::RawPeer> polls;
  for (int i = 0; i < 100; ++i) polls.push_back(peer.begin_poll("Text"));
  ASSERT_TRUE(becomes_polled("Text", 100));
  const Added added = add("a.txt", "a", "text/plain");
  int lent = 0;
  for (net::RawPeer& poll : polls) {
    const HttpAnswer answer = support::read_answer(poll);
    if (answer.status != 201) {
      EXPECT_EQ(answer.status, 204);
      continue;
    }
    ++lent;
    const LentTask task{answer.json()};
    EXPECT_EQ(peer.post_all(task, document_body(Style::Email, "a.txt", "x")), 202);
  }
  EXPECT_EQ(lent, 1);
  EXPECT_TRUE(finishes(added.job));
}

TEST_P(WorkerWeaknessTest, Weak04_AJobIsNotDoneBeforeAllItsRootsAreHoweverOftenTheServerDies) {
  serve();
  const std::int64_t job = add_many({"0.txt", "1.txt", "2.txt"}, "text/plain");
  for (int left = 3; left > 0; --left) {
    EXPECT_EQ(state_of(job), "running") << left;
    {
      WorkerPeer peer = worker();
      const LentTask task = peer.take("Text");
      EXPECT_EQ(peer.post_all(task, document_body(Style::Email, task.filename(), "x")), 202);
      EXPECT_TRUE(
          becomes(fmt::format("/api/v1/jobs/{}", job), "roots_done", std::to_string(4 - left)));
    }
    if (left > 1) kill_and_restart();
    if (left > 1) kill_and_restart();
  }
  ASSERT_TRUE(finishes(job));
  EXPECT_EQ(texts(job).size(), 3U);
}

TEST_P(WorkerWeaknessTest, Weak05_AReplayStoresNothingTwiceAndFinishedChildrenAreNotLentAgain) {
  serve({{"QUERN_TASK_IDLE", "100"}, {"QUERN_POLL_HOLD", "100"}});
  const Added added = add("a.zip", "PK", "application/zip");
  WorkerPeer peer = worker();
  const std::string large(200'000, 'x');
  const std::string body = Multipart(Style::Archive)
                               .child(0, "a.zip/0.txt", "text/plain")
                               .part("0.blob", large)
                               .part("progress", "0.5")
                               .child(1, "a.zip/1.txt", "text/plain")
                               .part("1.blob", "one")
                               .part("done", "")
                               .close();
  const LentTask first = peer.take("Archive");
  FragmentPost post = peer.post(first);
  post.chunk(std::string_view(body).substr(0, body.find("1.blob")));
  // The first member is handed on and becomes a document before its archive's worker dies.
  const LentTask member = peer.take("Text");
  EXPECT_EQ(peer.post_all(member, document_body(Style::Email, member.filename(), "once")), 202);
  EXPECT_TRUE(becomes(fmt::format("/api/v1/jobs/{}", added.job), "documents", "1"));
  const std::size_t blobs = blob_files();
  post.die();
  EXPECT_EQ(peer.post_all(peer.take("Archive"), body), 202);
  const LentTask second = peer.take("Text");
  EXPECT_EQ(second.filename(), "a.zip/1.txt") << "the other is done";
  EXPECT_EQ(peer.post_all(second, document_body(Style::Email, second.filename(), "two")), 202);
  ASSERT_TRUE(finishes(added.job));
  EXPECT_EQ(texts(added.job), (std::vector<std::string>{"once", "two"}));
  const auto give_up = steady_clock::now() + support::kProgramPatience;
  while (blob_files() > blobs && steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(blob_files(), blobs);
  expect_clean();
}

TEST_P(WorkerWeaknessTest, Weak07_NothingVanishesAndNothingIsBothDocumentAndError) {
  serve();
  WorkerPeer peer = worker();
  const Added empty = add("empty.zip", "PK", "application/zip");
  EXPECT_EQ(peer.post_one(peer.take("Archive"), "done", ""), 202);
  EXPECT_TRUE(finishes(empty.job));
  EXPECT_EQ(field(file(empty.file), "class"), "empty");

  const Added textless = add("a.pdf", kPdf, "application/pdf");
  const std::string without_text = Multipart(Style::Email)
                                       .child(0, "a.pdf", "application/pdf")
                                       .part("inherit-blob", "")
                                       .part("done", "")
                                       .close();
  EXPECT_EQ(peer.post_all(peer.take("Pdf"), without_text), 202);
  EXPECT_TRUE(finishes(textless.job));
  EXPECT_EQ(list("documents", textless.job).size(), 1U) << "an empty text is a text";

  const Added failed = add("b.zip", "PK", "application/zip");
  const std::string with_error = Multipart(Style::Email)
                                     .child(0, "b.zip/b", "application/pdf")
                                     .part("0.blob", kPdf)
                                     .part("0.txt", "a text")
                                     .part("0-thumbnail.jpg", kJpeg)
                                     .part("0.error", R"({"kind":"corrupt","message":"half"})")
                                     .part("done", "")
                                     .close();
  EXPECT_EQ(peer.post_all(peer.take("Archive"), with_error), 202);
  EXPECT_TRUE(finishes(failed.job));
  EXPECT_EQ(errors(failed.job), std::vector<std::string>{"b.zip/b corrupt: half"});
  EXPECT_EQ(list("documents", failed.job).size(), 0U);

  const Added liar = add("c.txt", "c", "text/plain");
  const std::string no_pdf = Multipart(Style::Email)
                                 .child(0, "c.txt", "application/pdf")
                                 .part("0.blob", "no PDF at all")
                                 .part("0.txt", "a text")
                                 .part("0-thumbnail.jpg", kJpeg)
                                 .part("done", "")
                                 .close();
  EXPECT_EQ(peer.post_all(peer.take("Text"), no_pdf), 202);
  EXPECT_TRUE(finishes(liar.job));
  ASSERT_EQ(errors(liar.job).size(), 1U);
  EXPECT_EQ(field(list("errors", liar.job)[0], "kind"), "protocol");
  EXPECT_EQ(list("documents", liar.job).size(), 0U);
  expect_clean();
}

TEST_P(WorkerWeaknessTest, Weak08_ACancelNoticedDuringAPostStillGetsThePostAnAnswer) {
  serve();
  const Added added = add("a.txt", "a", "text/plain");
  WorkerPeer peer = worker();
  const LentTask task = peer.take("Text");
  FragmentPost sending = peer.post(task);
  Multipart body(Style::SingleFile);
  sending.chunk(body.child(0, "a.txt", "application/pdf").take());
  EXPECT_EQ(post(fmt::format("/api/v1/jobs/{}/cancel", added.job)).status, 200);
  const auto give_up = steady_clock::now() + support::kProgramPatience;
  while (peer.head(task.path()) != 404 && steady_clock::now() < give_up) {
  }
  sending.chunk(body.part("0.blob", kPdf).part("done", "").close());
  EXPECT_EQ(sending.finish().status, 404);
  EXPECT_TRUE(becomes(fmt::format("/api/v1/jobs/{}", added.job), "state", "canceled"));
}

TEST_P(WorkerWeaknessTest, Weak09_APartOfAnOlderChildIsReadAndIgnored) {
  serve();
  const Added added = add("a.zip", "PK", "application/zip");
  WorkerPeer peer = worker();
  const std::string large(8 * 1024 * 1024, 'x');
  const std::string body = Multipart(Style::Archive)
                               .child(0, "a.zip/0.txt", "text/plain")
                               .part("0.blob", "zero")
                               .part("0.blob", large)
                               .child(1, "a.zip/1.txt", "text/plain")
                               .part("0.blob", large)
                               .part("0.txt", large)
                               .child(0, "a.zip/again", "text/plain")
                               .part("1.blob", "one")
                               .part("done", "")
                               .close();
  EXPECT_EQ(peer.post_all(peer.take("Archive"), body), 202);
  std::map<std::string, std::string> blobs;
  for (int i = 0; i < 2; ++i) {
    const LentTask task = peer.take("Text");
    blobs[task.filename()] = peer.blob_of(task);
    EXPECT_EQ(peer.post_all(task, document_body(Style::Email, task.filename(), "x")), 202);
  }
  EXPECT_EQ(blobs,
            (std::map<std::string, std::string>{{"a.zip/0.txt", "zero"}, {"a.zip/1.txt", "one"}}));
  EXPECT_TRUE(finishes(added.job));
  EXPECT_EQ(file(added.file).at("n_children"), 2);
}

TEST_P(WorkerWeaknessTest, Weak10_AMemberThatWasReportedWholeSurvivesTheErrorBehindIt) {
  serve();
  const Added added = add("a.zip", "PK", "application/zip");
  WorkerPeer peer = worker();
  const std::string body = Multipart(Style::Archive)
                               .child(0, "a.zip/0.txt", "text/plain")
                               .part("0.blob", "zero")
                               .part("progress", "0.9")
                               .part("error", "the index is damaged")
                               .close();
  EXPECT_EQ(peer.post_all(peer.take("Archive"), body), 202);
  convert_texts(peer);
  ASSERT_TRUE(finishes(added.job));
  EXPECT_EQ(texts(added.job), std::vector<std::string>{"text of a.zip/0.txt"});
  EXPECT_EQ(field(file(added.file), "message"), "the index is damaged");
  EXPECT_EQ(file(added.file).at("n_children"), 1);
}

TEST_P(WorkerWeaknessTest, Weak11_DepthMembersAndSizeHaveLimitsWithAClearError) {
  serve({{"QUERN_DEPTH_MAX", "2"},
         {"QUERN_MEMBERS_MAX", "3"},
         {"QUERN_BYTES_PER_ROOT_MAX", "1000000"}});
  WorkerPeer peer = worker();
  const auto nested = [](std::string_view name) {
    return Multipart(Style::Archive)
        .child(0, fmt::format("{}/0.zip", name), "application/zip")
        .part("0.blob", "PK")
        .part("done", "")
        .close();
  };
  const Added deep = add("d.zip", "PK", "application/zip");
  for (int i = 0; i < 3; ++i) {
    const LentTask task = peer.take("Archive");
    EXPECT_EQ(peer.post_all(task, nested(task.filename())), 202);
  }
  EXPECT_TRUE(finishes(deep.job));
  ASSERT_EQ(list("errors", deep.job).size(), 1U);
  EXPECT_EQ(field(list("errors", deep.job)[0], "kind"), "too_deep");

  const Added wide = add("w.zip", "PK", "application/zip");
  Multipart members(Style::Archive);
  for (int i = 0; i < 5; ++i) {
    members.child(i, fmt::format("w.zip/{}", i), "x/y").part(fmt::format("{}.blob", i), "x");
  }
  EXPECT_EQ(peer.post_all(peer.take("Archive"), members.part("done", "").close()), 202);
  EXPECT_TRUE(finishes(wide.job));
  EXPECT_EQ(field(file(wide.file), "error_kind"), "too_many");
  EXPECT_EQ(file(wide.file).at("n_children"), 3);

  const Added large = add("l.zip", "PK", "application/zip");
  Multipart sizes(Style::Archive);
  for (int i = 0; i < 3; ++i) {
    sizes.child(i, fmt::format("l.zip/{}", i), "x/y")
        .part(fmt::format("{}.blob", i), std::string(700'000, 'x'));
  }
  EXPECT_EQ(peer.post_all(peer.take("Archive"), sizes.part("done", "").close()), 202);
  EXPECT_TRUE(finishes(large.job));
  bool says_so = false;
  for (const auto& line : list("errors", large.job)) {
    says_so = says_so || field(line, "kind") == "too_large";
  }
  EXPECT_TRUE(says_so);
}

TEST_P(WorkerWeaknessTest, Weak11_AGapInTheNumbersIsClosed) {
  serve();
  const Added added = add("a.zip", "PK", "application/zip");
  WorkerPeer peer = worker();
  const std::string body = Multipart(Style::Archive)
                               .child(3, "a.zip/first", "x/y")
                               .part("3.blob", "3")
                               .child(7, "a.zip/second", "x/y")
                               .part("9.blob", "9")
                               .part("done", "")
                               .close();
  EXPECT_EQ(peer.post_all(peer.take("Archive"), body), 202);
  ASSERT_TRUE(finishes(added.job));
  const auto children = get_json(fmt::format("/api/v1/files/{}/children", added.file));
  ASSERT_EQ(children.at("items").as_array().size(), 2U);
  EXPECT_EQ(field(children.at("items").at(0).as_object(), "filename"), "a.zip/first");
  EXPECT_EQ(field(children.at("items").at(1).as_object(), "filename"), "a.zip/second");
}

TEST_P(WorkerWeaknessTest, Weak11_AConvertersMistakeIsAnErrorThatSaysWhich) {
  serve();
  const std::pair<const char*, std::string> rows[] = {
      {"Unrecognized input name: 0.gif", Multipart(Style::Email).part("0.gif", "x").close()},
      {"unexpected fragment 0.blob", Multipart(Style::Email).part("0.blob", "x").close()},
      {"without blob data", Multipart(Style::Email).child(0, "x", "x/y").part("done", "").close()},
      {"'contentType'", Multipart(Style::Email).part("0.json", R"({"filename":"x"})").close()},
      {"malformed", Multipart(Style::Email).part("0.json", R"({"filename":"a"b"})").close()},
  };
  WorkerPeer peer = worker();
  for (const auto& [message, body] : rows) {
    const Added added = add("a.txt", "a", "text/plain");
    for (int attempt = 0; attempt < 3; ++attempt) {
      EXPECT_EQ(peer.post_all(peer.take("Text"), body), 202);
    }
    ASSERT_TRUE(finishes(added.job)) << message;
    EXPECT_EQ(field(file(added.file), "error_kind"), "protocol");
    EXPECT_NE(field(file(added.file), "message").find(message), std::string::npos)
        << field(file(added.file), "message");
  }
}

TEST_P(WorkerWeaknessTest, Weak12_ALongTextDoesNotGrowTheServer) {
  serve();
  const Added added = add("a.txt", "a", "text/plain");
  WorkerPeer peer = worker();
  const LentTask task = peer.take("Text");
  const std::int64_t before = support::rss_anon_kb(server_->pid());
  FragmentPost post = peer.post(task);
  Multipart body(Style::SingleFile);
  post.chunk(body.child(0, "a.txt", "application/pdf").cut_part("0.txt", "").take());
  const std::string piece(1024 * 1024, 'x');
  std::int64_t peak = 0;
  for (int i = 0; i < 200; ++i) {
    post.chunk(piece);
    peak = std::max(peak, support::rss_anon_kb(server_->pid()));
  }
  post.chunk(body.part("0.blob", kPdf).part("0-thumbnail.jpg", kJpeg).part("done", "").close());
  EXPECT_EQ(post.finish().status, 202);
  ASSERT_TRUE(finishes(added.job));
  EXPECT_LT(peak - before, 64 * 1024) << "KiB, for 200 MiB of text";
  const auto documents = list("documents", added.job);
  ASSERT_EQ(documents.size(), 1U);
  const auto id = documents[0].at("document").as_int64();
  EXPECT_EQ(get(fmt::format("/api/v1/files/{}/text", id)).body.size(), 10'000'000U) << "cut there";
}

TEST_P(WorkerWeaknessTest, Weak13_TypesAreReadHoweverTheyAreWrittenAndDetectionIsTold) {
  serve(kOwnDetector);
  WorkerPeer peer = worker();
  add("a.zip", "PK", " Application/ZIP ; version=2");
  EXPECT_EQ(peer.take("Archive").filename(), "a.zip");
  add("b.rar", "Rar!", "application/x-rar-compressed");
  EXPECT_EQ(peer.take("Archive").filename(), "b.rar");
  add("c.docm", "PK", "application/vnd.ms-word.document.macroEnabled.12");
  EXPECT_EQ(peer.take("Office").filename(), "c.docm");
  const Detector detector(endpoint_, {{".txt", "text/plain"}});
  add("d.txt", "text");
  const LentTask task = peer.take("Text");
  EXPECT_EQ(task.json.at("contentType"), "application/octet-stream");
  EXPECT_EQ(task.json.at("detectedType"), "text/plain");
}

}  // namespace
}  // namespace quern::e2e
