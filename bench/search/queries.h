// The questions that are asked: some of each kind, the same for the same seed.
#pragma once

#include <string>
#include <vector>

#include "bench/search/generator.h"

namespace quern::bench {

struct QuerySet {
  std::string name;
  std::vector<std::string> queries;
};

// rare, common, two words, phrase, prefix, or, filtered; and "mixed", which is of all of them: for
// each 20, rare 4, common 2, two words 6, phrase 3, prefix 2, or 1, filtered 2.
std::vector<QuerySet> make_queries(const Generator& generator, std::int64_t documents,
                                   std::size_t each);

}  // namespace quern::bench
