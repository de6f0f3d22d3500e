// quern search, pack, searcher
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <string_view>

#include "app/command.h"

namespace quern::app {

struct FindOrder {
  std::vector<std::string> words;
  std::string collection;
  std::int64_t limit = 10;
  std::string sort = "relevance";
  std::string after;
  bool facets = false;
};
net::Task<Result<int>> find(Command command, FindOrder order);

struct PackOrder {
  std::string collection;
  bool full = false;
};
net::Task<Result<int>> pack(Command command, PackOrder order);

struct SearcherOrder {
  std::string id;
  std::string address;        // where others reach it; empty: where it listens
  std::int64_t space_mb = 0;  // 0: what is free
};
net::Task<Result<int>> serve_searcher(Command command, SearcherOrder order);

void add_search_commands(CLI::App& app, Run& run, bool& serves);

// Of a snippet: its text, with what is marked between `begin` and `end`.
std::string snippet_text(std::string_view html, std::string_view begin, std::string_view end);

}  // namespace quern::app
