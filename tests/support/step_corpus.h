// For tests over real files that are not ours (QUERN_CORPUS): runs a step in its box on those whose
// type it takes.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/log.h"
#include "io/file.h"
#include "model/steps.h"
#include "support/corpus.h"
#include "support/program.h"
#include "worker/box.h"
#include "worker/local_detect.h"
#include "worker/scripted_server.h"

namespace quern::worker {

struct CorpusFile {
  support::CorpusRow row;
  std::string path;
  std::string type;
};

inline std::vector<CorpusFile> files_for(net::Loop& loop, const std::filesystem::path& corpus,
                                         model::StepId wanted) {
  const auto rows = support::load_corpus_index(corpus);
  CHECK_OK(rows);
  std::vector<CorpusFile> files;
  std::vector<std::string> paths;
  for (const support::CorpusRow& row : *rows) {
    if (row.at("role") != "input") continue;
    paths.push_back((corpus / row.at("path")).string());
    files.push_back({row, paths.back(), ""});
  }
  DetectOptions options;
  options.program = support::program_path("quern-steps");
  const auto types = loop.run_until(detect_paths(loop, paths, options));
  CHECK_OK(types);
  for (std::size_t i = 0; i < files.size(); ++i) files[i].type = (*types)[i].type;
  std::erase_if(files, [wanted](const CorpusFile& file) {
    return model::step_for_type(file.type, model::Ocr::No) != wanted;
  });
  return files;
}

struct Converted {
  RunEnd end;
  std::string body;  // as much as is kept
  std::uint64_t bytes = 0;
};

inline net::Task<Converted> convert(Box* box, std::string filename, int input,
                                    std::uint64_t bytes) {
  BoxTask task;
  task.json = R"({"filename":")" + json_escaped(filename) + R"(","metadata":{}})";
  task.inputs = {input};
  task.input_bytes = bytes;
  task.boundary = "BOUNDARY";
  auto run = box->run(task);
  CHECK_OK(run);
  Converted converted;
  std::string buffer(256 * 1024, '\0');
  for (;;) {
    const std::size_t n = co_await (*run)->read(buffer);
    if (n == 0) break;
    converted.bytes += n;
    if (converted.body.size() < (32 << 20)) converted.body.append(buffer.data(), n);
  }
  converted.end = co_await (*run)->finish();
  co_return converted;
}

class CorpusTest : public ::testing::Test {
 protected:
  void start(const std::string& step) {
    BoxOptions options;
    options.program = support::program_path("quern-steps");
    options.step = step;
    options.limits.output_bytes = 512 << 20;
    options.limits.wall_ms = 120'000;
    auto box = loop_.run_until(Box::start(loop_, options));
    ASSERT_TRUE(box.ok()) << box.error().message();
    box_ = *std::move(box);
  }

  Converted run(const CorpusFile& file) {
    const auto reader = io::FileReader::open(file.path);
    CHECK_OK(reader);
    return loop_.run_until(convert(box_.get(), file.row.at("path"), reader->descriptor(),
                                   static_cast<std::uint64_t>(reader->size_bytes())));
  }

  net::Loop loop_;
  std::unique_ptr<Box> box_;
};

inline std::string folded(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
    if (blank && (result.empty() || result.back() == ' ')) continue;
    result += blank ? ' ' : c;
  }
  return result;
}

// Without blanks, since extractors differ in where they see some, and with ligatures taken apart.
inline std::string without_blanks(std::string_view text) {
  std::string result;
  for (const char c : folded(text)) {
    if (c != ' ') result += c;
  }
  for (const auto& [ligature, letters] :
       {std::pair{"\uFB01", "fi"}, std::pair{"\uFB02", "fl"}, std::pair{"\uFB00", "ff"}}) {
    for (std::size_t at = 0; (at = result.find(ligature, at)) != std::string::npos;) {
      result.replace(at, 3, letters);
    }
  }
  return result;
}

// Whether the text has all phrases that the file's row expects.
inline bool has_expected_text(const CorpusFile& file, const std::string& text) {
  const std::string all = without_blanks(text);
  std::string_view phrases = file.row.at("expected_text");
  for (;;) {
    const std::size_t end = phrases.find(" || ");
    if (all.find(without_blanks(phrases.substr(0, end))) == std::string::npos) return false;
    if (end == std::string_view::npos) return true;
    phrases.remove_prefix(end + 4);
  }
}

// Of all parts of a body that end so.
inline std::string joined_parts(const std::string& body, std::string_view suffix) {
  std::string all;
  for (const auto& [name, content] : parts_of(body + "--BOUNDARY--")) {
    if (name.ends_with(suffix)) all += content + "\n";
  }
  return all;
}

}  // namespace quern::worker
