#include "bench/search/relevance.h"

#include <cmath>
#include <fstream>
#include <iterator>

#include "bench/search/measure.h"

namespace quern::bench {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What stands between <name> and </name>, from `at` on, which moves behind it; empty at the end.
std::string take(const std::string& xml, const std::string& name, std::size_t& at) {
  const std::size_t begin = xml.find("<" + name + ">", at);
  if (begin == std::string::npos) return {};
  const std::size_t end = xml.find("</" + name + ">", begin);
  if (end == std::string::npos) return {};
  at = end;
  return xml.substr(begin + name.size() + 2, end - begin - name.size() - 2);
}

// "a OR b OR c", of letters and digits only: every engine takes it as it is.
std::string any_word(const std::string& text) {
  std::string out;
  bool inside = false;
  for (const char c : text) {
    const bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (is_word && !inside && !out.empty()) out += " OR ";
    if (is_word) out += c;
    inside = is_word;
  }
  return out;
}

}  // namespace

Cranfield load_cranfield(const std::filesystem::path& folder) {
  Cranfield cranfield;
  const std::string documents = read_file(folder / "cran.all.1400.xml");
  for (std::size_t at = 0; !take(documents, "docno", at).empty();) {
    at = documents.rfind("<docno>", at);
    search::PackDocument document;
    document.file = std::stoll(take(documents, "docno", at));
    document.title = take(documents, "title", at);
    document.author = take(documents, "author", at);
    document.text = take(documents, "text", at);
    cranfield.documents.push_back(std::move(document));
  }
  const std::string questions = read_file(folder / "cran.qry.xml");
  for (std::size_t at = 0;;) {
    const std::string question = take(questions, "title", at);
    if (question.empty()) break;
    cranfield.queries.push_back(any_word(question));
  }
  std::ifstream judged(folder / "cranqrel.trec.txt");
  int query = 0;
  int unused = 0;
  std::int64_t file = 0;
  for (int relevance = 0; judged >> query >> unused >> file >> relevance;) {
    if (relevance > 0) cranfield.relevant[query].insert(file);
  }
  return cranfield;
}

double ndcg_at_10(Engine& engine, const Cranfield& cranfield) {
  std::vector<double> all;
  for (std::size_t i = 0; i < cranfield.queries.size(); ++i) {
    const auto relevant = cranfield.relevant.find(static_cast<int>(i) + 1);
    if (relevant == cranfield.relevant.end()) continue;
    const std::vector<std::int64_t> got = engine.search(cranfield.queries[i]);
    double sum = 0;
    double best = 0;
    for (std::size_t place = 0; place < 10; ++place) {
      const double discount = 1 / std::log2(static_cast<double>(place) + 2);
      if (place < relevant->second.size()) best += discount;
      if (place < got.size() && relevant->second.contains(got[place])) sum += discount;
    }
    all.push_back(sum / best);
  }
  return mean(all);
}

}  // namespace quern::bench
