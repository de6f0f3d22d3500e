// Runs a fuzz target over each seed, and over mutations of the seeds that one number fixes: the
// same inputs every time, with any compiler. The target has libFuzzer's interface, so that a guided
// fuzzer can run it too.
#include <fmt/format.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "io/file.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size);

namespace quern {
namespace {

constexpr std::size_t kSeedBytesMax = 1024 * 1024;
constexpr std::size_t kSeedsMax = 10'000;

void run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const unsigned char*>(input.data()), input.size());
}

// A byte changed, taken out, doubled or cut off after, or the tail of another seed.
std::string mutated(std::string input, const std::vector<std::string>& seeds,
                    std::mt19937_64& random) {
  const auto below = [&random](std::size_t n) { return n == 0 ? 0 : random() % n; };
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
    const std::size_t at = below(input.size() + 1);
    switch (below(6)) {
      case 0:
        input.insert(at, 1, static_cast<char>(random()));
        break;
      case 1:
        input.erase(at, 1 + below(3));
        break;
      case 2:
        input.insert(at, input.substr(at, 1 + below(8)));
        break;
      case 3:
        input.resize(at);
        break;
      case 4: {
        const std::string& other = seeds[below(seeds.size())];
        input = input.substr(0, at) + other.substr(below(other.size() + 1));
        break;
      }
      default:
        if (at < input.size()) input[at] = "\r\n:; %\"0fF\0\xFF"[below(12)];
    }
    if (input.size() > kSeedBytesMax) input.resize(kSeedBytesMax);
  }
  return input;
}

int replay(const std::string& folder, int mutations) {
  std::vector<std::string> seeds;
  const auto entries = io::list_folder(folder, kSeedsMax);
  CHECK_OK(entries);
  for (const io::FolderEntry& entry : *entries) {
    seeds.push_back(io::read_file(io::Path(folder) / entry.name, kSeedBytesMax).value());
    run(seeds.back());
  }
  CHECK(!seeds.empty());
  std::mt19937_64 random(20261115);  // NOLINT: the same inputs every time
  for (int i = 0; i < mutations; ++i) run(mutated(seeds[random() % seeds.size()], seeds, random));
  fmt::print("{} seeds, {} mutations\n", seeds.size(), mutations);
  return 0;
}

}  // namespace
}  // namespace quern

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: {} SEEDS MUTATIONS\n", argv[0]);
    return 2;
  }
  return quern::replay(argv[1], std::atoi(argv[2]));
}
