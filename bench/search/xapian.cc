// Xapian's own programs: a process for each query, whose start is part of its time.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "base/check.h"
#include "bench/search/engine.h"

namespace quern::bench {
namespace {

constexpr char kScript[] =
    "file : field boolean=Q unique=Q\n"
    "title : index weight=4\n"
    "author : index weight=2\n"
    "text : index\n";

// In single quotes, for the shell.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string one_line(std::string text) {
  for (char& c : text) c = c == '\n' ? ' ' : c;
  return text;
}

class Xapian final : public Engine {
 public:
  explicit Xapian(std::filesystem::path folder) : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "script") << kScript;
    dump_.open(folder_ / "dump");
  }

  void add(const search::PackDocument& document) override {
    dump_ << "file=" << document.file << "\ntitle=" << one_line(document.title)
          << "\nauthor=" << one_line(document.author) << "\ntext=" << one_line(document.text)
          << "\n\n";
  }
  void finish() override {
    dump_.close();
    const std::string command = fmt::format(
        "cd {} && XAPIAN_FLUSH_THRESHOLD=50000 scriptindex -s english --overwrite db script dump "
        ">/dev/null 2>&1",
        quoted(folder_.string()));
    CHECK(std::system(command.c_str()) == 0);
    std::filesystem::remove(folder_ / "dump");
  }

  // Without filters: quest knows none.
  std::vector<std::int64_t> search(const std::string& text) override {
    const std::string words = text.substr(0, text.find(" type:"));
    const std::string command =
        fmt::format("quest -d {} -m 10 -s english -o and -f default,wildcard {} 2>/dev/null",
                    quoted((folder_ / "db").string()), quoted(words));
    FILE* pipe = popen(command.c_str(), "r");
    CHECK(pipe != nullptr);
    std::vector<std::int64_t> files;
    char line[512];
    while (std::fgets(line, sizeof line, pipe) != nullptr) {
      long long file = 0;
      if (std::sscanf(line, "file=%lld", &file) == 1) files.push_back(file);
    }
    pclose(pipe);
    return files;
  }
  std::uintmax_t bytes() const override {
    std::uintmax_t sum = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "db")) {
      sum += entry.file_size();
    }
    return sum;
  }

 private:
  std::filesystem::path folder_;
  std::ofstream dump_;
};

}  // namespace

std::unique_ptr<Engine> make_xapian(const std::filesystem::path& folder) {
  const bool is_there = std::system("command -v scriptindex quest >/dev/null 2>&1") == 0;
  return is_there ? std::make_unique<Xapian>(folder) : nullptr;
}

}  // namespace quern::bench
