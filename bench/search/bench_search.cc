// Question: what do a million documents cost to index, and how fast and how well are they found:
// rare and common words, phrases, beginnings, alternatives, filters, with snippets, on one thread?
// How much is lost by scoring 10,000 candidates only?
// Expect: 1,000 mixed queries a second with a p99 under 50 ms; common words within five times the
// time of rare ones; relevance not below that of plain FTS5 with bm25(), which walks over every
// match and so takes a second for a common word.
//
// Beside our packs, in the same run on the same documents: FTS5 as it comes, in one file, and
// Xapian through its own programs (a process for each query is part of its time; it has no filters
// here and makes no snippets). What is called the loss is against packs so small that every match
// is scored. Arguments: --smoke, --json, --documents=N, --each=N (queries of a kind), --pack=N
// (documents of a pack), --xapian=N (of how many documents; 0: without), --plain=N (the same for
// FTS5).
#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "bench/search/generator.h"
#include "bench/search/measure.h"
#include "bench/search/queries.h"
#include "bench/search/relevance.h"
#include "search/pack.h"
#include "support/corpus.h"
#include "support/temp_folder.h"

namespace quern::bench {
namespace {

struct Plan {
  std::int64_t documents = 1'000'000;
  std::int64_t pack = 1'000'000;
  std::int64_t plain = INT64_MAX;
  std::int64_t xapian = INT64_MAX;
  std::size_t each = 1'000;
  std::size_t slow_each = 40;  // of a peer that takes a second for some
  double seconds = 10;         // at each fixed rate
  bool json = false;
};

bool take_number(const char* argument, const char* name, std::int64_t& into) {
  const std::size_t size = std::strlen(name);
  if (std::strncmp(argument, name, size) != 0) return false;
  into = std::atoll(argument + size);
  return true;
}

Plan plan_of(int argc, char** argv) {
  Plan plan;
  for (int i = 1; i < argc; ++i) {
    std::int64_t each = 0;
    if (std::strcmp(argv[i], "--json") == 0) plan.json = true;
    if (std::strcmp(argv[i], "--smoke") == 0) {
      plan.documents = plan.pack = 3'000;
      plan.each = 40;
      plan.seconds = 0.2;
    }
    take_number(argv[i], "--documents=", plan.documents);
    take_number(argv[i], "--pack=", plan.pack);
    take_number(argv[i], "--plain=", plan.plain);
    take_number(argv[i], "--xapian=", plan.xapian);
    if (take_number(argv[i], "--each=", each)) plan.each = static_cast<std::size_t>(each);
  }
  return plan;
}

class Bench {
 public:
  explicit Bench(const Plan& plan)
      : plan_(plan), queries_(make_queries(generator_, plan.documents, plan.each)) {}

  void run() {
    const auto packs = make_packs(folder_ / "packs", plan_.pack);
    index("quern", *packs, plan_.documents);
    ask("quern", *packs, plan_.each);
    ask_at_rates(*packs);
    lose(*packs);
    publish(*packs);
    compare("fts5", make_plain_fts5(folder_ / "plain"), plan_.plain);
    compare("xapian", make_xapian(folder_ / "xapian"), plan_.xapian);
    judge();
  }

 private:
  void tell(const std::string& engine, const std::string& what, double value,
            const std::string& unit) const {
    if (plan_.json) {
      fmt::print("{{\"engine\":\"{}\",\"what\":\"{}\",\"value\":{:.4g},\"unit\":\"{}\"}}\n", engine,
                 what, value, unit);
    } else {
      fmt::print("{:8} {:32} {:>12.4g} {}\n", engine, what, value, unit);
    }
    std::fflush(stdout);
  }

  void tell_times(const std::string& engine, const std::string& what, const Times& times) const {
    tell(engine, what + ", p50", times.p50_ms, "ms");
    tell(engine, what + ", p99", times.p99_ms, "ms");
    tell(engine, what + ", rate", times.per_second, "/s");
    if (times.per_cpu_second > 0) {
      tell(engine, what + ", per CPU second", times.per_cpu_second, "/s");
    }
    if (times.found < 1) tell(engine, what + ", found", 100 * times.found, "%");
  }

  void index(const std::string& name, Engine& engine, std::int64_t documents) const {
    double bytes = 0;
    double made = 0;  // the generator's own time
    const double begin = now_ns();
    double cpu = -cpu_seconds();
    for (std::int64_t i = 1; i <= documents; ++i) {
      const double before = now_ns();
      cpu += cpu_seconds();
      const search::PackDocument document = generator_.document(i);
      cpu -= cpu_seconds();
      made += now_ns() - before;
      bytes += static_cast<double>(document.text.size() + document.title.size());
      engine.add(document);
    }
    engine.finish();
    const double seconds = seconds_of(begin) - made / 1e9;
    tell(name, "documents", static_cast<double>(documents), "");
    tell(name, "text", bytes / 1e6, "MB");
    tell(name, "index", bytes / 1e6 / seconds, "MB/s");
    tell(name, "index, per CPU second", bytes / 1e6 / (cpu + cpu_seconds()), "MB/s");
    tell(name, "size", 100 * static_cast<double>(engine.bytes()) / bytes, "% of text");
  }

  void ask(const std::string& name, Engine& engine, std::size_t each) const {
    for (const QuerySet& set : queries_) {
      std::vector<std::string> some = set.queries;
      some.resize(std::min(some.size(), each));
      tell_times(name, set.name, measure(engine, some));
    }
  }

  void ask_at_rates(Engine& engine) const {
    for (const double rate : {100.0, 300.0, 1'000.0, 2'000.0}) {
      const Times times = measure_at(engine, queries_.back().queries, rate, plan_.seconds);
      tell_times("quern", fmt::format("mixed at {}/s", rate), times);
    }
  }

  // Increments of a thousand documents, one after the other, while queries come at a fixed rate.
  void publish(PackEngine& packs) const {
    constexpr double kRate = 300;
    std::vector<search::PackDocument> increment;
    for (std::int64_t i = 1; i <= 1'000; ++i) {
      increment.push_back(generator_.document(plan_.documents + i));
    }
    const std::vector<std::string>& queries = queries_.back().queries;
    const Times calm = measure_at(packs, queries, kRate, plan_.seconds);
    std::atomic<bool> stop = false;
    std::atomic<int> published = 0;
    std::thread publisher([&] {
      for (; !stop; ++published) packs.publish(increment);
    });
    Times busy = measure_at(packs, queries, kRate, plan_.seconds);
    busy.per_cpu_second = 0;  // the publisher's time is in it
    stop = true;
    publisher.join();
    tell("quern", "increments published", published, "");
    tell_times("quern", "mixed at 300/s, calm", calm);
    tell_times("quern", "mixed at 300/s, publishing", busy);
  }

  // Beginnings are left out: which words they stand for depends on the pack.
  void lose(Engine& packs) const {
    const auto all = make_packs(folder_ / "all", search::kCandidatesMax);
    for (std::int64_t i = 1; i <= plan_.documents; ++i) all->add(generator_.document(i));
    all->finish();
    for (const QuerySet& set : queries_) {
      if (set.name == "prefix" || set.name == "mixed") continue;
      std::vector<double> overlaps;
      std::vector<double> gains;
      for (std::size_t i = 0; i < set.queries.size() && i < plan_.slow_each * 5; ++i) {
        const std::vector<std::int64_t> ideal = all->search(set.queries[i]);
        const std::vector<std::int64_t> got = packs.search(set.queries[i]);
        overlaps.push_back(overlap(got, ideal));
        gains.push_back(graded_ndcg(got, ideal));
      }
      tell("quern", set.name + ", overlap@10", mean(overlaps), "of exhaustive");
      tell("quern", set.name + ", nDCG@10", mean(gains), "of exhaustive");
    }
  }

  void compare(const std::string& name, const std::unique_ptr<Engine>& engine,
               std::int64_t documents_max) const {
    if (engine == nullptr || documents_max == 0) return;
    index(name, *engine, std::min(plan_.documents, documents_max));
    ask(name, *engine, std::min(plan_.each, plan_.slow_each));
  }

  void judge() const {
    const auto corpus = support::find_corpus();
    if (!corpus.ok() || !*corpus) return;
    const std::filesystem::path folder = **corpus / "search" / "cranfield";
    if (!std::filesystem::exists(folder)) return;
    const Cranfield cranfield = load_cranfield(folder);
    const std::pair<const char*, std::unique_ptr<Engine>> engines[] = {
        {"quern", make_packs(folder_ / "judged", plan_.pack)},
        {"fts5", make_plain_fts5(folder_ / "judged plain")},
        {"xapian", plan_.xapian > 0 ? make_xapian(folder_ / "judged xapian") : nullptr}};
    for (const auto& [name, engine] : engines) {
      if (engine == nullptr) continue;
      for (const search::PackDocument& document : cranfield.documents) engine->add(document);
      engine->finish();
      tell(name, "Cranfield, nDCG@10", ndcg_at_10(*engine, cranfield), "");
    }
  }

  Plan plan_;
  Generator generator_{42};
  std::vector<QuerySet> queries_;
  support::TempFolder folder_;
};

}  // namespace
}  // namespace quern::bench

int main(int argc, char** argv) {
  quern::bench::Bench(quern::bench::plan_of(argc, argv)).run();
  return 0;
}
