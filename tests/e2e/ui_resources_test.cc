// What pages show, over HTTP, on either store: origins, downloads, places in lists, groups of
// errors, matches, work, workers, gates. The steps are played by the test.
#include <gmock/gmock.h>

#include "e2e/event_stream.h"
#include "e2e/worker_protocol_fixture.h"

namespace quern::e2e {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

class UiResourcesTest : public WorkerProtocolTest {
 protected:
  static std::string at(const char* format, std::int64_t id) {
    return fmt::format(fmt::runtime(format), id);
  }
  static std::string names(const json::object& object) {
    std::string text;
    for (const auto& [name, value] : object) text += std::string(name) + " ";
    return text;
  }
  static const json::object& item(const json::object& page, std::size_t i) {
    return page.at("items").as_array().at(i).as_object();
  }
  std::string header(const std::string& target, std::string_view name) {
    const net::Response answer = get(target);
    EXPECT_EQ(answer.status, 200) << target << answer.body;
    const std::string* found = answer.headers.find(name);
    return found == nullptr ? "" : *found;
  }
  // An archive with one text, which became a document: the ids of all three.
  struct Nested {
    std::int64_t job = 0;
    std::int64_t archive = 0;
    std::int64_t text = 0;
    std::int64_t document = 0;
  };
  Nested make_nested() {
    Nested made;
    const Added added = add("leak.zip", "PK", "application/zip");
    made.job = added.job;
    made.archive = added.file;
    WorkerPeer peer = worker();
    const LentTask task = peer.take("Archive");
    EXPECT_EQ(peer.post_all(task, Multipart(Style::Archive)
                                      .child(0, "leak.zip/to ann.txt", "text/plain")
                                      .part("0.blob", "dear ann")
                                      .part("cost", R"({"wallMs":12,"cpuMs":8,"peakKiB":4096})")
                                      .part("done", "")
                                      .close()),
              202);
    convert_one(peer);
    EXPECT_TRUE(finishes(made.job));
    const json::object below = get_json(at("/api/v1/files/{}/children", made.archive));
    made.text = item(below, 0).at("file").as_int64();
    made.document = list("documents", made.job).at(0).at("document").as_int64();
    return made;
  }
  // Files that fail, each with a message of its own.
  std::int64_t make_errors(const std::vector<std::string>& messages) {
    std::vector<std::string> files;
    for (std::size_t i = 0; i < messages.size(); ++i) files.push_back(fmt::format("{}.txt", i));
    const std::int64_t job = add_many(files, "text/plain");
    WorkerPeer peer = worker();
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const LentTask task = peer.take("Text");
      const std::size_t number = std::stoul(task.filename());
      const json::object failure{{"kind", "encrypted"}, {"message", messages[number]}};
      EXPECT_EQ(peer.post_one(task, "failure", json::serialize(failure)), 202);
    }
    EXPECT_TRUE(finishes(job));
    return job;
  }
  std::string token(const std::string& role, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"token", "create", "--role", role};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::string secret = folder_.run(arguments).standard_output;
    while (!secret.empty() && secret.back() == '\n') secret.pop_back();
    return secret;
  }
};

TEST_P(UiResourcesTest, AFileTellsWhereItCameFrom) {
  serve();
  const Nested made = make_nested();
  const json::object document = file(made.document);
  EXPECT_EQ(field(document, "collection"), "default");
  EXPECT_EQ(document.at("original").as_int64(), made.text);
  const json::array& parents = document.at("parents").as_array();
  ASSERT_EQ(parents.size(), 2u);
  EXPECT_EQ(names(parents[0].as_object()),
            "file filename class detected_type content_type index n_children ");
  EXPECT_EQ(parents[0].at("file").as_int64(), made.archive);
  EXPECT_EQ(parents[0].at("class").as_string(), "container");
  EXPECT_EQ(parents[1].at("file").as_int64(), made.text);
  EXPECT_EQ(parents[1].at("class").as_string(), "converted");
  const json::object root = file(made.archive);
  EXPECT_TRUE(root.at("parents").as_array().empty());
  EXPECT_EQ(root.at("original").as_int64(), made.archive);
}

TEST_P(UiResourcesTest, ChildrenAndRootsHaveWhatATreeShows) {
  serve();
  const Nested made = make_nested();
  const json::object roots = get_json(at("/api/v1/jobs/{}/roots", made.job));
  EXPECT_EQ(names(item(roots, 0)),
            "file parent filename depth content_type detected_type step state class n_children "
            "error_kind index bytes message has_thumbnail has_text ");
  const json::object leaf = item(get_json(at("/api/v1/files/{}/children", made.text)), 0);
  EXPECT_TRUE(leaf.at("has_thumbnail").as_bool());
  EXPECT_TRUE(leaf.at("has_text").as_bool());
  EXPECT_TRUE(leaf.at("message").is_null());
  EXPECT_EQ(leaf.at("bytes").as_int64(), static_cast<std::int64_t>(kPdf.size()));
}

TEST_P(UiResourcesTest, DownloadsHaveTheNameOfTheFile) {
  serve();
  const Nested made = make_nested();
  EXPECT_EQ(header(at("/api/v1/files/{}/blob", made.text), "Content-Disposition"), "");
  EXPECT_EQ(header(at("/api/v1/files/{}/blob?download=1", made.text), "Content-Disposition"),
            "attachment; filename=\"to ann.txt\"; filename*=UTF-8''to%20ann.txt");
  EXPECT_EQ(header(at("/api/v1/files/{}/blob?download=1", made.document), "Content-Disposition"),
            "attachment; filename=\"to ann.txt.pdf\"; filename*=UTF-8''to%20ann.txt.pdf");
  EXPECT_EQ(header(at("/api/v1/files/{}/text?download=1", made.document), "Content-Disposition"),
            "attachment; filename=\"to ann.txt\"; filename*=UTF-8''to%20ann.txt");
  EXPECT_EQ(header(at("/api/v1/files/{}/blob?download=1", made.archive), "Content-Type"),
            "application/octet-stream");
  EXPECT_EQ(get(at("/api/v1/files/{}/blob?download=2", made.text)).status, 400);
}

TEST_P(UiResourcesTest, AHostileNameStaysInItsHeader) {
  serve();
  const Added added = add("x\";\r\nSet-Cookie: a=b\u202Efdp.exe", "MZ", "application/zip");
  const net::Response answer = get(at("/api/v1/files/{}/blob?download=1", added.file));
  ASSERT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.find("Set-Cookie"), nullptr);
  EXPECT_THAT(*answer.headers.find("Content-Disposition"),
              HasSubstr("filename*=UTF-8''x_%3BSet-Cookie_%20a%3Dbfdp.exe"));
}

TEST_P(UiResourcesTest, AListMayBeginInItsMiddle) {
  serve();
  const std::int64_t job = add_many({"a.txt", "b.txt", "c.txt", "d.txt"}, "text/plain");
  WorkerPeer peer = worker();
  convert_texts(peer);
  ASSERT_TRUE(finishes(job));
  const json::object page = get_json("/api/v1/documents?collection=default&offset=2&limit=1");
  ASSERT_EQ(page.at("items").as_array().size(), 1u);
  EXPECT_EQ(field(item(page, 0), "filename"), "c.txt");
  std::string next = "/api/v1/documents?collection=default&limit=9";
  net::append_query(next, "after", field(page, "next"));
  EXPECT_EQ(field(item(get_json(next), 0), "filename"), "d.txt");
  EXPECT_EQ(field(item(get_json("/api/v1/files?offset=7"), 0), "filename"), "d.txt");
  EXPECT_TRUE(get_json("/api/v1/errors?offset=3").at("items").as_array().empty());
  for (const std::string& bad :
       {std::string("offset=-1"), std::string("offset=3000001"),
        std::string("offset=1&filename=a.txt"), std::string("offset=1&after=a.1.b"),
        "offset=1&job=" + std::to_string(job)}) {
    EXPECT_EQ(get("/api/v1/documents?" + bad).status, 400) << bad;
  }
}

TEST_P(UiResourcesTest, ErrorsComeInGroupsAndAGroupIsTriedAgain) {
  serve();
  const std::int64_t job = make_errors({"locked", "locked", "torn & wet", "locked", "locked"});
  const json::object groups = get_json("/api/v1/errors/groups?collection=default");
  EXPECT_EQ(names(groups), "items others counted counted_is ");
  EXPECT_EQ(field(groups, "counted"), "5");
  EXPECT_EQ(field(groups, "counted_is"), "exact");
  EXPECT_EQ(field(groups, "others"), "0");
  const json::object& largest = item(groups, 0);
  EXPECT_EQ(names(largest), "kind message count superseded examples ");
  EXPECT_EQ(field(largest, "message"), "locked");
  EXPECT_EQ(field(largest, "count"), "4");
  EXPECT_EQ(largest.at("examples").as_array().size(), 3u);
  EXPECT_EQ(names(largest.at("examples").as_array()[0].as_object()), "file filename ");

  EXPECT_EQ(list("errors?message=torn%20%26%20wet", job).size(), 1u);
  EXPECT_EQ(list("errors?kind=encrypted", job).size(), 5u);
  EXPECT_EQ(list("errors?kind=crash", job).size(), 0u);

  const net::Response again = post("/api/v1/retry?kind=encrypted&message=torn%20%26%20wet");
  ASSERT_EQ(again.status, 200) << again.body;
  const json::array jobs = json::parse(again.body).at("jobs").as_array();
  ASSERT_EQ(jobs.size(), 1u);
  WorkerPeer peer = worker();
  convert_one(peer);
  ASSERT_TRUE(finishes(jobs[0].as_int64()));
  const json::object now = get_json(at("/api/v1/errors/groups?job={}", job));
  EXPECT_EQ(field(item(now, 1), "superseded"), "1");
  const json::object none = get_json(at("/api/v1/errors/groups?job={}", jobs[0].as_int64()));
  EXPECT_TRUE(none.at("items").as_array().empty());
  EXPECT_EQ(get("/api/v1/errors/groups?collection=nowhere").status, 404);
  EXPECT_EQ(get("/api/v1/errors/groups?kind=x").status, 400);
  expect_clean();
}

TEST_P(UiResourcesTest, MatchesAreFoundPageByPage) {
  serve();
  const Added added = add("birds.txt", "bytes", "text/plain");
  WorkerPeer peer = worker();
  const LentTask task = peer.take("Text");
  const std::string first = "Kingfisher and heron.";
  const std::string text = first + "Nothing here." + "Two kingfishers, one KINGFISHER.";
  json::object child = json::parse(support::child_json("birds.txt", "application/pdf")).as_object();
  child["pageEnds"] = {first.size(), first.size() + 13, text.size()};
  ASSERT_EQ(peer.post_all(task, Multipart(Style::SingleFile)
                                    .part("0.json", json::serialize(child))
                                    .part("0.blob", kPdf)
                                    .part("0-thumbnail.jpg", kJpeg)
                                    .part("0.txt", text)
                                    .part("done", "")
                                    .close()),
            202);
  ASSERT_TRUE(finishes(added.job));
  const std::int64_t id = list("documents", added.job).at(0).at("document").as_int64();
  EXPECT_EQ(get(at("/api/v1/files/{}/matches?q=kingfisher%20-heron", id)).body,
            R"({"words":["Kingfisher","kingfishers","KINGFISHER"],"total":3,"cut":false,)"
            R"("pages":[{"page":1,"count":1},{"page":3,"count":2}]})");
  EXPECT_EQ(get(at("/api/v1/files/{}/matches", id)).body,
            R"({"words":[],"total":0,"cut":false,"pages":[]})");
  EXPECT_EQ(get(at("/api/v1/files/{}/matches?q=a", added.file)).status, 404) << "it has no text";
  EXPECT_EQ(get(at("/api/v1/files/{}/matches?p=a", id)).status, 400);
}

TEST_P(UiResourcesTest, WorkTellsWhatStepsHaveDoneAndWhatIsInHand) {
  serve();
  const Nested made = make_nested();
  const json::object done = get_json(at("/api/v1/jobs/{}/work", made.job));
  EXPECT_EQ(names(done), "job steps tasks ");
  ASSERT_EQ(done.at("steps").as_array().size(), 2u) << json::serialize(done);
  EXPECT_TRUE(done.at("tasks").as_array().empty());
  for (const auto& step : done.at("steps").as_array()) {
    EXPECT_EQ(names(step.as_object()), "step entered ended failed waiting running wall_ms cpu_ms ");
    EXPECT_EQ(step.at("entered").as_int64(), 1);
    EXPECT_EQ(step.at("ended").as_int64(), 1);
    EXPECT_EQ(step.at("wall_ms").as_int64(), step.at("step") == "Archive" ? 12 : 0);
  }
  const std::int64_t job = add_many({"a.txt", "b.txt", "c.txt"}, "text/plain");
  WorkerPeer peer = worker();
  const HttpAnswer polled = peer.poll("Text", "worker=kitchen&version=3.2&box=full");
  ASSERT_EQ(polled.status, 201);
  const json::object now = get_json(at("/api/v1/jobs/{}/work", job));
  const json::object& text = now.at("steps").as_array().at(0).as_object();
  EXPECT_EQ(field(text, "entered"), "3");
  EXPECT_EQ(field(text, "running"), "1");
  EXPECT_EQ(field(text, "waiting"), "2");
  const json::object& task = now.at("tasks").as_array().at(0).as_object();
  EXPECT_EQ(names(task), "file filename files step worker seconds progress ");
  EXPECT_EQ(field(task, "worker"), "kitchen");
  EXPECT_EQ(task.at("file").as_int64(), LentTask{polled.json()}.file());
  EXPECT_EQ(get("/api/v1/jobs/4711/work").status, 404);
  // The sums are rows: the next server has them.
  kill_and_restart();
  const json::object after = get_json(at("/api/v1/jobs/{}/work", job));
  EXPECT_EQ(field(after.at("steps").as_array().at(0).as_object(), "waiting"), "3");
  expect_clean();
}

TEST_P(UiResourcesTest, AtMostAHundredTasksAreShown) {
  serve();
  std::vector<std::string> files;
  for (int i = 0; i < 101; ++i) files.push_back(fmt::format("{}.txt", i));
  const std::int64_t job = add_many(files, "text/plain");
  WorkerPeer peer = worker();
  std::size_t lent = 0;
  for (int polls = 0; lent < files.size() && polls < 500; ++polls) {
    const HttpAnswer answer = peer.poll("Text", "tasks=64");
    if (answer.status == 201) lent += answer.json().at("tasks").as_array().size();
  }
  ASSERT_EQ(lent, files.size());
  const json::object work = get_json(at("/api/v1/jobs/{}/work", job));
  EXPECT_EQ(work.at("tasks").as_array().size(), 100u);
  EXPECT_EQ(field(work.at("steps").as_array().at(0).as_object(), "running"), "101");
  EXPECT_EQ(item(get_json("/api/v1/workers"), 0).at("tasks").as_array().size(), 100u);
}

TEST_P(UiResourcesTest, WorkersAreKnownByTheirPolls) {
  serve();
  EXPECT_TRUE(get_json("/api/v1/workers").at("items").as_array().empty());
  const Added added = add("a.txt", "bytes", "text/plain");
  WorkerPeer peer = worker();
  HttpAnswer polled = peer.poll("Text", "worker=kitchen&version=3.2&box=full");
  while (polled.status == 204) polled = peer.poll("Text", "worker=kitchen&version=3.2&box=full");
  ASSERT_EQ(polled.status, 201);
  const json::object busy = item(get_json("/api/v1/workers"), 0);
  EXPECT_EQ(names(busy),
            "worker step version box polling running finished failed busy_ms seconds_since_seen "
            "tasks ");
  EXPECT_EQ(field(busy, "worker"), "kitchen");
  EXPECT_EQ(field(busy, "step"), "Text");
  EXPECT_EQ(field(busy, "version"), "3.2");
  EXPECT_EQ(field(busy, "box"), "full");
  EXPECT_EQ(field(busy, "running"), "1");
  EXPECT_EQ(busy.at("tasks").as_array().at(0).at("filename").as_string(), "a.txt");
  const LentTask task{polled.json()};
  ASSERT_EQ(peer.post_all(task, document_body(Style::SingleFile, "a.txt", "text")), 202);
  ASSERT_TRUE(finishes(added.job));
  const json::object idle = item(get_json("/api/v1/workers"), 0);
  EXPECT_EQ(field(idle, "running"), "0");
  EXPECT_EQ(field(idle, "finished"), "1");
  EXPECT_TRUE(idle.at("tasks").as_array().empty());
  (void)peer.poll("Archive");
  const json::object unnamed = item(get_json("/api/v1/workers"), 1);
  EXPECT_EQ(field(unnamed, "worker"), "unnamed");
}

TEST_P(UiResourcesTest, EventsTellOfWorkersAndPartitionsToThoseWhoListenToAll) {
  serve();
  EventStream all(endpoint_, "");
  EventStream own(endpoint_, "?collection=default");
  const Added added = add("a.txt", "bytes", "text/plain");
  WorkerPeer peer = worker();
  HttpAnswer polled = peer.poll("Text", "worker=kitchen");
  while (polled.status == 204) polled = peer.poll("Text", "worker=kitchen");
  const json::object came = all.next("worker.changed");
  EXPECT_EQ(names(came), "worker step state ");
  EXPECT_EQ(field(came, "worker"), "kitchen");
  EXPECT_EQ(field(came, "state"), "came");
  EXPECT_EQ(field(all.next("worker.changed"), "state"), "busy");
  const LentTask task{polled.json()};
  ASSERT_EQ(peer.post_all(task, document_body(Style::SingleFile, "a.txt", "text")), 202);
  EXPECT_EQ(field(all.next("worker.changed"), "state"), "idle");
  ASSERT_TRUE(finishes(added.job));
  const std::string seen = own.read_to("event: job.finished");
  EXPECT_EQ(seen.find("worker.changed"), std::string::npos) << seen;
  EXPECT_EQ(seen.find("partition.changed"), std::string::npos) << seen;
}

TEST_P(UiResourcesTest, GatesAreListedAndChangesAreTold) {
  serve();
  EventStream events(endpoint_, "");
  const std::string p = "/api/v1/partitions/p";
  // Nobody answers there: items fail.
  ASSERT_EQ(put(p, R"({"handler":"http://127.0.0.1:9/x","max_retries":0})").status, 201);
  ASSERT_EQ(put(p + "/items/a", "{}").status, 201);
  ASSERT_EQ(put(p + "/items/b?gate=4", "{}").status, 201);
  json::object told = events.next("partition.changed");
  while (field(told, "partition") != "p") told = events.next("partition.changed");
  EXPECT_EQ(names(told), "partition ");
  EXPECT_TRUE(becomes(p, "failed", "1"));
  const json::object gates = get_json(p + "/gates");
  ASSERT_EQ(gates.at("items").as_array().size(), 2u);
  EXPECT_EQ(json::serialize(item(gates, 0)),
            R"({"gate":0,"items":1,"available":0,"running":0,"failed":1,"complete":0})");
  EXPECT_EQ(field(item(gates, 1), "available"), "1");
  EXPECT_FALSE(gates.contains("next"));
  const json::object first = get_json(p + "/gates?limit=1");
  EXPECT_EQ(field(first, "next"), "0");
  EXPECT_EQ(field(item(get_json(p + "/gates?after=0"), 0), "gate"), "4");
  EXPECT_EQ(get("/api/v1/partitions/none/gates").status, 404);
  EXPECT_EQ(get(p + "/gates?limit=201").status, 400);
}

TEST_P(UiResourcesTest, ReadersMayReadAllOfThisAndATokenForACollectionOnlyItsOwn) {
  serve();
  const Nested made = make_nested();
  const std::string file = at("/api/v1/files/{}", made.document);
  const std::vector<std::string> own = {file,
                                        file + "/blob?download=1",
                                        file + "/text?download=1",
                                        file + "/matches?q=ann",
                                        "/api/v1/documents?collection=default&offset=1",
                                        "/api/v1/errors/groups?collection=default",
                                        at("/api/v1/jobs/{}/work", made.job)};
  const std::vector<std::string> general = {"/api/v1/workers", "/api/v1/partitions/p/gates",
                                            "/api/v1/errors/groups"};
  ASSERT_EQ(put("/api/v1/partitions/p", R"({"handler":"http://127.0.0.1:9/x"})").status, 201);
  const auto status = [&](const std::string& target, const std::string& secret) {
    return send(net::Method::Get, target, "", {{"Authorization", "Bearer " + secret}}).status;
  };
  const std::string reader = token("reader");
  const std::string scoped = token("reader", {"--collection", "default"});
  const std::string other = token("reader", {"--collection", "other"});
  for (const std::string& target : own) {
    EXPECT_EQ(status(target, reader), 200) << target;
    EXPECT_EQ(status(target, scoped), 200) << target;
    EXPECT_EQ(status(target, other), 403) << target;
  }
  for (const std::string& target : general) {
    EXPECT_EQ(status(target, reader), 200) << target;
    EXPECT_EQ(status(target, scoped), 403) << target;
  }
}

QUERN_ON_BOTH_STORES(UiResourcesTest);

}  // namespace
}  // namespace quern::e2e
