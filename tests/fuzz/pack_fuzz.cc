// Damaged packs: each four bytes of the input change a byte of a good one. Whatever they hit, there
// is an answer or an error.
#include <fstream>
#include <string>

#include "base/check.h"
#include "search/pack.h"
#include "search/query.h"
#include "search/snippet.h"
#include "support/temp_folder.h"

namespace quern::search {
namespace {

constexpr std::size_t kEdit = 4;
constexpr std::size_t kEditsMax = 16;

class Target {
 public:
  Target() : path_(folder_ / "pack") {
    auto builder = PackBuilder::create(path_);
    CHECK_OK(builder);
    // Enough for lists of common words, with champions of one.
    for (int i = 1; i <= 2'100; ++i) {
      PackDocument document{.file = i, .job = i % 3, .title = "The title", .day = i / 7};
      document.filename = "folder" + std::to_string(i % 5) + "/name" + std::to_string(i) + ".txt";
      document.type = i % 2 == 0 ? "text/plain" : "application/pdf";
      document.text = "common words of number" + std::to_string(i % 600);
      document.page_ends = {5, 12};
      CHECK_OK(builder->add(document));
    }
    CHECK_OK(builder->finish());
    std::ifstream file(path_, std::ios::binary);
    good_.assign(std::istreambuf_iterator<char>(file), {});
  }

  void run(std::string_view edits) {
    damage(edits, true);
    ask();
    damage(edits, false);
  }

 private:
  void damage(std::string_view edits, bool bad) {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    for (std::size_t i = 0; i + kEdit <= edits.size() && i < kEdit * kEditsMax; i += kEdit) {
      std::size_t at = 0;
      for (std::size_t k = 0; k + 1 < kEdit; ++k) {
        at = at * 256 + static_cast<unsigned char>(edits[i + k]);
      }
      at %= good_.size();
      file.seekp(static_cast<std::streamoff>(at));
      file.put(bad ? edits[i + kEdit - 1] : good_[at]);
    }
  }

  void ask() {
    const auto opened = Pack::open(path_);
    if (!opened.ok()) return;
    const Pack& pack = **opened;
    for (const char* text :
         {"common", "number7", "words -number8", "\"words of\"", "numb*",
          "title:title common type:pdf path:folder1 date:1970", "of OR number9"}) {
      const Query query = parse_query(text);
      const auto frequencies = pack.frequencies(tokens_of(query));
      if (!frequencies.ok()) continue;
      Highlighter highlighter(query);
      for (const Sort sort : {Sort::Relevance, Sort::Newest, Sort::Oldest}) {
        const auto answer = pack.search({.query = &query,
                                         .frequencies = &*frequencies,
                                         .sort = sort,
                                         .limit = 5,
                                         .facets = true});
        if (!answer.ok()) continue;
        CHECK(answer->found.size() <= 5);
        for (const Found& found : answer->found) (void)pack.show(found.row, highlighter);
      }
    }
    (void)pack.suggest("n", 5);
    (void)pack.rows_of_job(1);
  }

  support::TempFolder folder_;
  std::filesystem::path path_;
  std::string good_;
};

}  // namespace
}  // namespace quern::search

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static quern::search::Target target;
  target.run({reinterpret_cast<const char*>(data), size});
  return 0;
}
