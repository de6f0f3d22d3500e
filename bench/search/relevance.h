// Relevance: the Cranfield collection of the corpus, 1400 abstracts and 225 questions with judged
// answers.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/search/engine.h"

namespace quern::bench {

struct Cranfield {
  std::vector<search::PackDocument> documents;
  std::vector<std::string> queries;  // any of the words of each question
  // By the place of the question in its file, from 1: that is how the judgements number them.
  std::map<int, std::set<std::int64_t>> relevant;
};

Cranfield load_cranfield(const std::filesystem::path& folder);
// nDCG of the ten best, over all questions.
double ndcg_at_10(Engine& engine, const Cranfield& cranfield);

}  // namespace quern::bench
