#include "support/corpus.h"

#include <cstdlib>

#include "io/file.h"

namespace quern::support {
namespace {

constexpr char kVariable[] = "QUERN_CORPUS";
constexpr char kIndex[] = "INDEX.tsv";
constexpr std::size_t kIndexBytesMax = 64 * 1024 * 1024;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

}  // namespace

Result<std::optional<std::filesystem::path>> find_corpus() {
  const char* named = std::getenv(kVariable);
  const std::filesystem::path folder = named != nullptr ? named : QUERN_SOURCE "/../shared/corpus";
  TRY_ASSIGN(const bool there, io::path_exists(folder / kIndex));
  if (there) return std::optional(folder);
  if (named == nullptr) return std::optional<std::filesystem::path>();
  return Error{Errc::Missing,
               std::string(kVariable) + " names " + named + ", which has no INDEX.tsv"};
}

Result<std::vector<CorpusRow>> load_corpus_index(const std::filesystem::path& corpus) {
  TRY_ASSIGN(const std::string text, io::read_file(corpus / kIndex, kIndexBytesMax));
  std::vector<CorpusRow> rows;
  std::vector<std::string> names;
  for (const std::string& line : split(text, '\n')) {
    if (line.empty()) continue;
    const std::vector<std::string> cells = split(line, '\t');
    if (names.empty()) {
      names = cells;
      continue;
    }
    if (cells.size() != names.size()) return Error{Errc::Corrupt, "odd row in INDEX.tsv: " + line};
    CorpusRow& row = rows.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = cells[i];
  }
  return rows;
}

}  // namespace quern::support
