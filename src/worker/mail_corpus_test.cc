// Mails, mailboxes, Outlook's files and sounds in their boxes over real files that are not ours
// (QUERN_CORPUS): they end by their own word, and say what their sources say they do.
#include "support/step_corpus.h"
#include "worker/step_children.h"
#include "worker/steps.h"

namespace quern::worker {
namespace {

using model::StepId;

constexpr int kGenerationsMax = 5;

// What a page shows, as far as finding a phrase needs it.
std::string without_tags(std::string_view html) {
  std::string text;
  bool inside = false;
  for (const char c : html) {
    if (c == '<') inside = true;
    if (!inside) text += c;
    if (c == '>') inside = false;
  }
  for (const auto& [entity, letter] :
       {std::pair{"&#39;", "'"}, std::pair{"&nbsp;", " "}, std::pair{"&#8217;", "’"},
        std::pair{"&lt;", "<"}, std::pair{"&gt;", ">"}, std::pair{"&quot;", "\""},
        std::pair{"&amp;", "&"}}) {
    for (std::size_t at = 0; (at = text.find(entity, at)) != std::string::npos; ++at) {
      text.replace(at, std::string_view(entity).size(), letter);
    }
  }
  return text;
}

// Of all children and, of mails among them, of theirs.
std::string all_text(const std::vector<MadeChild>& children, int generation) {
  static const bool warmed = (email_step().warm(), true);
  CHECK(warmed);
  std::string text;
  for (const MadeChild& child : children) {
    text += child.name + "\n" + boost::json::serialize(child.metadata) + "\n";
    text += child.type == "text/html" ? without_tags(child.blob) : child.blob;
    text += "\n";
    if (child.type != "message/rfc822" || generation >= kGenerationsMax) continue;
    const StepRun inner = run_step(email_step(), child.name, child.blob);
    text += all_text(made_children(inner), generation + 1);
  }
  return text;
}

struct MailTally {
  int failed = 0;
  int expected = 0;
  int found = 0;
};

class MailCorpusTest : public CorpusTest {
 protected:
  MailTally run_all(StepId step, const std::string& name, const std::filesystem::path& corpus) {
    const std::vector<CorpusFile> files = files_for(loop_, corpus, step);
    start(name);
    MailTally tally;
    for (const CorpusFile& file : files) {
      const Converted converted = run(file);
      take(file, converted, tally);
      EXPECT_EQ(run(file).body, converted.body) << file.path << " is not the same twice";
    }
    std::printf("%s: %zu files, %d failed; %d of %d texts\n", name.c_str(), files.size(),
                tally.failed, tally.found, tally.expected);
    EXPECT_FALSE(files.empty());
    return tally;
  }

 private:
  static void take(const CorpusFile& file, const Converted& converted, MailTally& tally) {
    const auto& failure = converted.end.failure;
    EXPECT_FALSE(converted.end.seen_by_box) << file.path << ": " << failure->message;
    EXPECT_LT(converted.end.cost.cpu_ms, 30'000) << file.path;
    tally.failed += failure ? 1 : 0;
    if (failure) std::printf("%s: %s\n", file.path.c_str(), failure->message.c_str());
    if (file.row.at("expected_text").empty() || file.row.at("text_check") != "seen") return;
    ++tally.expected;
    StepRun made;
    for (const auto& part : parts_of(converted.body + "--BOUNDARY--")) made.parts.push_back(part);
    const bool there = has_expected_text(
        file, all_text(made_children(made), 0) + joined_parts(converted.body, ".txt"));
    tally.found += there ? 1 : 0;
    if (!there) std::printf("not found: %s\n", file.path.c_str());
  }
};

TEST_F(MailCorpusTest, MailsOfAllKindsSayWhatTheirSourcesExpect) {
  QUERN_CORPUS_OR_SKIP(corpus);  // QUERN_CORPUS
  int expected = 0;
  int found = 0;
  for (const auto& [step, name] :
       {std::pair{StepId::Email, "Email"}, std::pair{StepId::Mbox, "Mbox"},
        std::pair{StepId::Msg, "Msg"}, std::pair{StepId::Pst, "Pst"}}) {
    const MailTally tally = run_all(step, name, corpus);
    expected += tally.expected;
    found += tally.found;
  }
  EXPECT_GT(expected, 20);
  EXPECT_GE(found * 100, expected * 95);
}

TEST_F(MailCorpusTest, SoundsAndFilmsEndByTheirOwnWord) {
  QUERN_CORPUS_OR_SKIP(corpus);  // QUERN_CORPUS
  const MailTally tally = run_all(StepId::Audio, "Audio", corpus);
  EXPECT_EQ(tally.found, tally.expected);
}

std::vector<MadeChild> expected_children(const std::filesystem::path& folder) {
  std::string body = *io::read_file(folder / "expect-output.mime", 16 << 20);
  StepRun run;
  const std::string delimiter = "\r\n--MIME-BOUNDARY";
  for (std::size_t at = body.find(delimiter); at != std::string::npos;) {
    const std::size_t next = body.find(delimiter, at + 1);
    const std::size_t name = body.find("name=", at);
    const std::size_t begin = body.find("\r\n\r\n", at);
    if (next == std::string::npos || name > next) break;
    run.parts.emplace_back(body.substr(name + 5, body.find("\r\n", name) - name - 5),
                           body.substr(begin + 4, next - begin - 4));
    at = next;
  }
  return made_children(run);
}

// The words of a body that stand in ours: all but the addresses of pictures and what they know of
// their programs.
void expect_same(const MadeChild& expected, const MadeChild& ours) {
  EXPECT_EQ(ours.type, expected.type) << expected.name;
  for (const auto& field : expected.metadata) {
    EXPECT_EQ(ours.metadata.at(field.key()), field.value()) << expected.name << field.key();
  }
  if (expected.type == "application/octet-stream") {
    EXPECT_EQ(ours.blob, expected.blob) << expected.name;
  } else if (expected.type != "text/calendar") {
    EXPECT_NE(
        without_blanks(without_tags(ours.blob)).find(without_blanks(without_tags(expected.blob))),
        std::string::npos)
        << expected.name;
  } else {
    const std::size_t begin = expected.blob.find("SUMMARY:");
    EXPECT_NE(ours.blob.find(expected.blob.substr(begin, expected.blob.find('\n', begin) - begin)),
              std::string::npos);
  }
}

TEST_F(MailCorpusTest, ChildrenAreThoseThatOverviewsOwnConvertersMake) {
  QUERN_CORPUS_OR_SKIP(corpus);  // QUERN_CORPUS
  int cases = 0;
  for (const Step& step : {email_step(), pst_step()}) {
    step.warm();
    const std::string kind = std::string(step.name) == "Email" ? "email" : "pst";
    for (const auto& entry :
         std::filesystem::directory_iterator(corpus / "overview" / ("overview-convert-" + kind))) {
      const boost::json::object asked =
          boost::json::parse(*io::read_file(entry.path() / "input.json", 1 << 20)).as_object();
      StepTask task;
      task.filename = std::string(asked.at("filename").as_string());
      task.metadata = boost::json::serialize(asked.at("metadata"));
      const auto ours = made_children(
          run_task(step, task, *io::read_file(entry.path() / "input.blob", 16 << 20)));
      const auto expected = expected_children(entry.path());
      EXPECT_EQ(ours.size(), expected.size()) << entry.path();
      for (const MadeChild& child : expected) {
        const auto same = [&](const MadeChild& other) { return other.name == child.name; };
        const auto found = std::find_if(ours.begin(), ours.end(), same);
        ASSERT_NE(found, ours.end()) << child.name;
        expect_same(child, *found);
      }
      ++cases;
    }
  }
  EXPECT_EQ(cases, 4);
}

}  // namespace
}  // namespace quern::worker
