// The corpus: real files that are not ours, outside the repository, with expected facts in
// INDEX.tsv.
//
// $QUERN_CORPUS names its folder; without it, ../shared/corpus beside the source tree is looked
// for. Tests that need it skip where it is absent, and say so; a folder that was named and is not
// there is an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace quern::support {

// Nothing where no corpus is there; Missing where $QUERN_CORPUS names a folder without one.
Result<std::optional<std::filesystem::path>> find_corpus();

// A row of the index: its columns by name.
using CorpusRow = std::map<std::string, std::string>;
Result<std::vector<CorpusRow>> load_corpus_index(const std::filesystem::path& corpus);

}  // namespace quern::support

// At the top of a test: declares a path of that name.
#define QUERN_CORPUS_OR_SKIP(name)                                                 \
  const auto found_##name = ::quern::support::find_corpus();                       \
  ASSERT_TRUE(found_##name.ok()) << found_##name.error().message();                \
  if (!*found_##name) GTEST_SKIP() << "no corpus: set QUERN_CORPUS to its folder"; \
  const std::filesystem::path name = **found_##name
