// For end-to-end tests: the program quern on a data folder of its own.
#pragma once

#include <string>
#include <vector>

#include "support/program.h"
#include "support/temp_folder.h"

namespace quern::e2e {

class DataFolder {
 public:
  explicit DataFolder(std::string database = "") : database_(std::move(database)) {}

  std::filesystem::path path() const { return folder_.path() / "data"; }
  std::string socket() const { return "unix:" + (path() / "quern.sock").string(); }
  support::ProgramOptions options(std::vector<std::string> arguments,
                                  support::Environment more = {}) const {
    support::Environment environment = {{"QUERN_DATA", path().string()}};
    if (!database_.empty()) environment.emplace_back("QUERN_DB", database_);
    environment.insert(environment.end(), more.begin(), more.end());
    return {"quern", std::move(arguments), std::move(environment), {}};
  }
  support::Ran run(std::vector<std::string> arguments, support::Environment more = {}) const {
    Result<support::Ran> ran = support::run_program(options(std::move(arguments), std::move(more)));
    CHECK_OK(ran);
    return *std::move(ran);
  }
  std::unique_ptr<support::Program> start(std::vector<std::string> arguments,
                                          support::Environment more = {}) const {
    auto program = support::Program::start(options(std::move(arguments), std::move(more)));
    CHECK_OK(program);
    return *std::move(program);
  }
  // Serves on a free port; returns when it listens.
  std::unique_ptr<support::Program> serve(std::string* address = nullptr) const {
    auto program = start({"serve", "--listen", "127.0.0.1:0"});
    const auto line = program->wait_for_line(support::Output::Standard, "http://");
    CHECK_OK(line);
    if (address != nullptr) *address = line->substr(line->find("http://"));
    return program;
  }

 private:
  support::TempFolder folder_;
  std::string database_;
};

}  // namespace quern::e2e
