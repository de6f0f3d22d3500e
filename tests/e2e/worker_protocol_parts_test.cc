// The conformance checklist of the worker protocol, items 4 to 8, 14 and 15: what the parts mean.
#include <random>

#include "e2e/worker_protocol_fixture.h"

namespace quern::e2e {
namespace {

using support::child_json;

// Sends a body in chunks that end at these places.
int post_in_chunks(WorkerPeer& peer, const LentTask& task, std::string_view body,
                   const std::vector<std::size_t>& cuts) {
  FragmentPost post = peer.post(task);
  std::size_t begin = 0;
  for (const std::size_t cut : cuts) {
    post.chunk(body.substr(begin, cut - begin));
    begin = cut;
  }
  post.chunk(body.substr(begin));
  return post.finish().status;
}

TEST_P(WorkerProtocolTest, Wire04_BodiesOfEveryConverterAreUnderstoodWhereverTheirChunksEnd) {
  serve();
  const std::string sample = document_body(Style::Email, "000.txt", "the text\r\n");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < sample.size() + 30; ++i) names.push_back(fmt::format("{:03}.txt", i));
  const std::int64_t job = add_many(names, "text/plain");
  WorkerPeer peer = worker();
  std::mt19937 random(4);  // NOLINT: the same cuts every time
  for (std::size_t i = 0; i < names.size(); ++i) {
    const LentTask task = peer.take("Text");
    // Every border of a body with quoted boundary and leading line end; then each style at random.
    const Style style = i < sample.size() ? Style::Email : static_cast<Style>(i % 3);
    const std::string body = document_body(style, task.filename(), "the text\r\n");
    std::vector<std::size_t> cuts;
    if (i < sample.size()) cuts.push_back(i);
    for (std::size_t at = random() % 9; i >= sample.size() && at < body.size();) {
      cuts.push_back(at);
      at += 1 + random() % (i % 2 == 0 ? 1 : 40);
    }
    ASSERT_EQ(post_in_chunks(peer, task, body, cuts), 202) << "cut at " << i;
  }
  ASSERT_TRUE(finishes(job));
  const std::vector<std::string> all = texts(job);
  EXPECT_EQ(all.size(), names.size());
  for (const std::string& text : all) ASSERT_EQ(text, "the text\n");
  EXPECT_EQ(errors(job), std::vector<std::string>{});
}

TEST_P(WorkerProtocolTest, Wire04_TheBoundaryIsQuotedOrNotAndBlanksAndHeaderCaseDoNotMatter) {
  serve();
  const std::int64_t job = add_many({"a.txt", "b.txt", "c.txt"}, "text/plain");
  WorkerPeer peer = worker();
  const std::string boundary(Multipart::kBoundary);
  const std::vector<std::string> types = {
      "multipart/form-data; boundary=" + boundary,
      "Multipart/Form-Data;charset=utf-8; BOUNDARY=\"" + boundary + "\"",
      "multipart/form-data; boundary=\"" + boundary + "\""};
  for (const std::string& type : types) {
    const LentTask task = peer.take("Text");
    std::string body = document_body(Style::Archive, task.filename(), "x");
    const std::string header = "Content-Disposition: form-data";
    for (std::size_t at = body.find(header); at != body.npos; at = body.find(header, at)) {
      body.replace(at, header.size(), "CONTENT-disposition:  form-data ");
    }
    // Blanks behind a delimiter that is none of the close.
    const std::size_t second = body.find(boundary, body.find(boundary) + 1);
    body.insert(second + boundary.size(), " \t");
    FragmentPost post = peer.post(task, type);
    post.chunk(body);
    EXPECT_EQ(post.finish().status, 202) << type;
  }
  EXPECT_TRUE(finishes(job));
  EXPECT_EQ(texts(job).size(), 3U);
}

TEST_P(WorkerProtocolTest, Wire04_WhatIsNoMultipartIsRefusedAndTheTaskGoesOn) {
  serve();
  const Added added = add("a.txt", "a", "text/plain");
  WorkerPeer peer = worker();
  const LentTask task = peer.take("Text");
  FragmentPost post = peer.post(task, "text/plain");
  post.chunk("hello");
  EXPECT_EQ(post.finish().status, 415);
  EXPECT_EQ(peer.post_all(task, document_body(Style::Email, "a.txt", "x")), 202);
  EXPECT_TRUE(finishes(added.job));
  EXPECT_EQ(texts(added.job).size(), 1U);
}

TEST_P(WorkerProtocolTest, Wire05_NestedBoundariesOfAMailboxStayInsideItsMails) {
  serve();
  const Added added = add("box.pst", "!BDN", "application/vnd.ms-outlook-pst");
  WorkerPeer peer = worker();
  const LentTask pst = peer.take("Pst");
  const std::string outer(Multipart::kBoundary);
  std::vector<std::string> mails;
  for (int i = 0; i < 3; ++i) {
    const std::string inner = fmt::format("{}-{}", outer, i + 1);
    mails.push_back(
        fmt::format("From: a@b\r\nContent-Type: multipart/mixed; boundary=\"{}\"\r\n\r\n"
                    "\r\n--{}\r\n\r\nmail {}\r\n--{}--\r\n\r\n--{}\r\n--{}x\r\n",
                    inner, inner, i, inner, inner, outer));
  }
  Multipart body(Style::Email);
  for (int i = 0; i < 3; ++i) {
    body.child(i, fmt::format("box.pst/Inbox/000{}.eml", i), "message/rfc822")
        .part(fmt::format("{}.blob", i), mails[static_cast<std::size_t>(i)])
        .part("progress", R"({"children":{"nProcessed":1,"nTotal":0}})");
  }
  ASSERT_EQ(peer.post_all(pst, body.part("done", "").close()), 202);
  std::set<std::string> got;
  for (int i = 0; i < 3; ++i) {
    const LentTask mail = peer.take("Email");
    got.insert(peer.blob_of(mail));
    EXPECT_EQ(peer.post_one(mail, "done", ""), 202);
  }
  EXPECT_EQ(got, std::set<std::string>(mails.begin(), mails.end()));
  EXPECT_TRUE(finishes(added.job));
}

TEST_P(WorkerProtocolTest, Wire06_APdfKeepsItsBlobAndBecomesADocumentWithoutAnotherStep) {
  serve();
  const std::string pdf = kPdf + std::string(100'000, '\n');
  const Added added = add("a.pdf", pdf, "application/pdf");
  const std::size_t before = blob_files();
  WorkerPeer peer = worker();
  const LentTask task = peer.take("Pdf");
  const std::string body = Multipart(Style::Email)
                               .child(0, "a.pdf", "application/pdf")
                               .part("inherit-blob", "")
                               .part("0-thumbnail.png", kPng)
                               .part("progress", "0.5")
                               .part("0.txt", "page one\fpage two")
                               .part("done", "")
                               .close();
  ASSERT_EQ(peer.post_all(task, body), 202);
  ASSERT_TRUE(finishes(added.job));
  const auto documents = list("documents?text=1", added.job);
  ASSERT_EQ(documents.size(), 1U);
  EXPECT_EQ(documents[0].at("pdf_sha256"), task.blob().at("sha256"));
  EXPECT_EQ(field(documents[0], "text"), "page one page two");
  EXPECT_EQ(field(documents[0], "filename"), "a.pdf");
  const std::int64_t id = documents[0].at("document").as_int64();
  EXPECT_EQ(field(file(id), "thumbnail_type"), "image/png");
  EXPECT_EQ(get(fmt::format("/api/v1/files/{}/thumbnail", id)).body, kPng);
  EXPECT_EQ(field(file(added.file), "class"), "converted");
  EXPECT_EQ(blob_files(), before) << "inheriting copies nothing";
  EXPECT_TRUE(peer.finds_nothing("Pdf"));
}

TEST_P(WorkerProtocolTest, Wire07_ASplitPdfBecomesADocumentForEachPage) {
  serve();
  const Added added = add("a.pdf", kPdf, "application/pdf", "&split_by_page=1");
  WorkerPeer peer = worker();
  const LentTask task = peer.take("Pdf");
  EXPECT_EQ(task.json.at("wantSplitByPage"), true);
  Multipart body(Style::Email);
  body.part("progress", "0");
  for (int page = 1; page <= 3; ++page) {
    const int index = page - 1;
    const std::string metadata = fmt::format(R"({{"pageNumber":{}}})", page);
    // The blob comes last.
    body.part(fmt::format("{}.json", index), child_json("a.pdf", "application/pdf", metadata))
        .part(fmt::format("{}-thumbnail.png", index), kPng)
        .part(fmt::format("{}.txt", index), fmt::format("page {}", page))
        .part(fmt::format("{}.blob", index), fmt::format("{}% {}", kPdf, page))
        .part("progress", fmt::format(R"({{"children":{{"nProcessed":{},"nTotal":3}}}})", page));
  }
  ASSERT_EQ(peer.post_all(task, body.part("done", "").close()), 202);
  ASSERT_TRUE(finishes(added.job));
  const auto documents = list("documents?text=1", added.job);
  ASSERT_EQ(documents.size(), 3U);
  std::set<std::string> pdfs;
  for (std::int64_t page = 1; page <= 3; ++page) {
    const auto& document = documents[static_cast<std::size_t>(page - 1)];
    EXPECT_EQ(document.at("page"), page);
    EXPECT_EQ(document.at("metadata").at("pageNumber"), page);
    EXPECT_EQ(field(document, "text"), fmt::format("page {}", page));
    pdfs.insert(field(document, "pdf_sha256"));
  }
  EXPECT_EQ(pdfs.size(), 3U);
  EXPECT_EQ(file(added.file).at("n_children"), 3);
}

TEST_P(WorkerProtocolTest, Wire08_MembersAreHandedOnWhileTheArchiveIsStillBeingRead) {
  serve(kOwnDetector);
  const Added added = add("a.zip", "PK", "application/zip");
  WorkerPeer peer = worker();
  const LentTask outer = peer.take("Archive");
  FragmentPost post = peer.post(outer);
  Multipart body(Style::Archive);
  const auto member = [&body](int index, std::string_view name, std::string_view bytes) {
    return body.child(index, fmt::format("a.zip/{}", name), "application/octet-stream")
        .part(fmt::format("{}.blob", index), bytes)
        .part("progress", fmt::format(R"({{"bytes":{{"nProcessed":{},"nTotal":9}}}})", index))
        .take();
  };
  {
    const Detector detector(endpoint_,
                            {{".txt", "text/plain"}, {".zip", "application/zip"}, {".bin", "x/y"}});
    post.chunk(member(0, "b.txt", "text"));
    post.chunk(member(1, "c.zip", "PK in PK"));
    // Each is whole once the next begins; the POST stays open.
    const LentTask text = peer.take("Text");
    EXPECT_EQ(text.filename(), "a.zip/b.txt");
    EXPECT_EQ(text.json.at("contentType"), "application/octet-stream");
    EXPECT_EQ(text.json.at("detectedType"), "text/plain");
    EXPECT_EQ(peer.post_all(text, document_body(Style::SingleFile, text.filename(), "b")), 202);
    post.chunk(member(2, "d.bin", "no"));
    const LentTask inner = peer.take("Archive");
    EXPECT_EQ(inner.filename(), "a.zip/c.zip");
    const std::string members = Multipart(Style::Archive)
                                    .child(0, "a.zip/c.zip/e.txt", "application/octet-stream")
                                    .part("0.blob", "deep")
                                    .part("progress", "1")
                                    .part("done", "")
                                    .close();
    EXPECT_EQ(peer.post_all(inner, members), 202);
    const LentTask deep = peer.take("Text");
    EXPECT_EQ(deep.filename(), "a.zip/c.zip/e.txt");
    EXPECT_EQ(peer.post_all(deep, document_body(Style::SingleFile, deep.filename(), "e")), 202);
    EXPECT_EQ(state_of(added.job), "running");
    post.chunk(body.part("done", "").close());
    EXPECT_EQ(post.finish().status, 202);
    EXPECT_TRUE(finishes(added.job));
  }
  EXPECT_EQ(texts(added.job), (std::vector<std::string>{"b", "e"}));
  EXPECT_EQ(errors(added.job), std::vector<std::string>{"a.zip/d.bin unhandled: unhandled"});
  EXPECT_EQ(file(added.file).at("n_children"), 3);
  EXPECT_EQ(field(file(added.file), "class"), "container");
}

TEST_P(WorkerProtocolTest, Wire14_AnErrorTakesTheMemberItCameInAndLeavesTheOthers) {
  serve();
  const Added added = add("a.zip", "PK", "application/zip");
  WorkerPeer peer = worker();
  const LentTask task = peer.take("Archive");
  const std::string body = Multipart(Style::Archive)
                               .child(0, "a.zip/0.txt", "text/plain")
                               .part("0.blob", "zero")
                               .part("progress", "0.3")
                               .child(1, "a.zip/1.txt", "text/plain")
                               .part("1.blob", "one")
                               .part("progress", "0.6")
                               .child(2, "a.zip/2.txt", "text/plain")
                               .part("2.blob", "damag")
                               .part("error", "Truncated ZIP file data")
                               .part("done", "")
                               .child(3, "a.zip/3.txt", "text/plain")
                               .part("3.blob", "after the end")
                               .close();
  ASSERT_EQ(peer.post_all(task, body), 202);
  EXPECT_EQ(peer.head(task.path()), 404) << "it is over";
  convert_texts(peer);
  ASSERT_TRUE(finishes(added.job));
  EXPECT_EQ(texts(added.job),
            (std::vector<std::string>{"text of a.zip/0.txt", "text of a.zip/1.txt"}));
  EXPECT_EQ(file(added.file).at("n_children"), 2);
  EXPECT_EQ(field(file(added.file), "message"), "Truncated ZIP file data");
  EXPECT_EQ(errors(added.job).size(), 1U);
}

TEST_P(WorkerProtocolTest, Wire15_OddButHonestPartsAreAccepted) {
  serve();
  const Added added = add("a.docx", "PK", "application/msword");
  WorkerPeer peer = worker();
  const LentTask task = peer.take("Office");
  // Office sends back the whole task, with its own fields on top.
  boost::json::object echo = task.json;
  echo["contentType"] = "application/pdf";
  echo["metadata"] = {{"Modified By", "x"}};
  std::string child = boost::json::serialize(echo);
  child.replace(child.find("a.docx"), 6, "caf\xE9.docx");  // Latin-1, as old zips have it
  const std::string body =
      Multipart(Style::SingleFile)
          .part("progress", R"({"children":{"nProcessed":0,"nTotal":0}})")
          .part("progress", R"({"bytes":{"nProcessed":5e9,"nTotal":6000000000}})")
          .part("heartbeat", "")
          .part("0.json", child)
          .part("0.blob", kPdf)
          .part("progress", R"({"children":{"nProcessed":7,"nTotal":3}})")
          .part("0-thumbnail.jpg", kJpeg)
          .part("0-thumbnail.png", "ignored: there is one")
          .part("0.txt", "")
          .part("0.txt", "a later text is ignored")
          .part("done", "")
          .close();
  ASSERT_EQ(peer.post_all(task, body), 202);
  ASSERT_TRUE(finishes(added.job));
  EXPECT_EQ(errors(added.job), std::vector<std::string>{});
  const auto documents = list("documents?text=1", added.job);
  ASSERT_EQ(documents.size(), 1U);
  EXPECT_EQ(field(documents[0], "filename"), "caf\xEF\xBF\xBD.docx");
  EXPECT_EQ(field(documents[0], "text"), "");
  EXPECT_EQ(documents[0].at("metadata").at("Modified By"), "x");
}

TEST_P(WorkerProtocolTest, Wire15_SingleFragmentsDoWhatAStreamOfThemDoes) {
  serve();
  const Added added = add("a.txt", "a", "text/plain");
  WorkerPeer peer = worker();
  const LentTask task = peer.take("Text");
  for (const auto& [name, bytes] : std::vector<std::pair<std::string, std::string>>{
           {"progress", "0.1"},
           {"heartbeat", ""},
           {"0.json", child_json("a.txt", "application/pdf")},
           {"0.txt", "one by one"},
           {"0.blob", kPdf},
           {"0-thumbnail.jpg", kJpeg},
           {"done", ""}}) {
    EXPECT_EQ(peer.post_one(task, name, bytes), 202) << name;
  }
  EXPECT_EQ(peer.post_one(task, "done", ""), 404);
  ASSERT_TRUE(finishes(added.job));
  EXPECT_EQ(texts(added.job), std::vector<std::string>{"one by one"});
}

}  // namespace
}  // namespace quern::e2e
