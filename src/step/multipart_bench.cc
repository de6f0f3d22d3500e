// Question: what does finding the parts cost, for big blobs and for many tiny parts?
// Expect: above 1 GB/s whatever the blob holds (line ends, carriage returns only, nested
// boundaries), above 300,000 parts a second.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "step/multipart.h"

namespace quern::step {
namespace {

constexpr std::string_view kBoundary = "MIME-BOUNDARY-0123456789-abcdefghijklmnopqrstuvwxyz";
constexpr std::size_t kPieceBytes = 64 * 1024;
constexpr std::size_t kBlobBytes = 64 * 1024 * 1024;

std::string part(std::string_view name, std::string_view data) {
  return fmt::format("--{}\r\nContent-Disposition: form-data; name={}\r\n\r\n{}\r\n", kBoundary,
                     name, data);
}

// The number of parts, all of whose bytes were looked at.
std::size_t read_all(std::string_view body) {
  auto reader = *MultipartReader::make(fmt::format("multipart/form-data; boundary={}", kBoundary));
  std::size_t parts = 0;
  while (!body.empty()) {
    reader.feed(body.substr(0, kPieceBytes));
    body.remove_prefix(std::min(kPieceBytes, body.size()));
    for (auto event = reader.next(); event.kind != MultipartReader::Kind::NeedMore;
         event = reader.next()) {
      if (event.kind == MultipartReader::Kind::End) return parts;
      if (event.kind == MultipartReader::Kind::PartEnd) ++parts;
      benchmark::DoNotOptimize(event.text.data());
    }
  }
  return parts;
}

std::string blob_of(std::string_view pattern) {
  std::string blob;
  while (blob.size() < kBlobBytes) blob += pattern;
  return blob;
}

void read_blob(benchmark::State& state, std::string_view pattern) {
  const std::string body = part("0.blob", blob_of(pattern)) + fmt::format("--{}--", kBoundary);
  for (auto _ : state) {
    if (read_all(body) != 1) state.SkipWithError("the blob did not come out whole");
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * body.size()));
}

void BM_Zeros(benchmark::State& state) {
  read_blob(state, std::string_view("\0", 1));
}
void BM_Mail(benchmark::State& state) {
  read_blob(state, "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do.\r\n");
}
void BM_CarriageReturns(benchmark::State& state) {
  read_blob(state, "\r");
}
void BM_NearlyDelimiters(benchmark::State& state) {
  read_blob(state, "\r\n--MIME-BOUNDARY-0123456789-abcdefghijklmnop");
}
void BM_NestedBoundaries(benchmark::State& state) {
  const std::string line(1024, 'x');
  read_blob(state, fmt::format("{}\r\n--{}-1\r\n", line, kBoundary));
}
BENCHMARK(BM_Zeros)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Mail)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_CarriageReturns)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_NearlyDelimiters)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_NestedBoundaries)->Unit(benchmark::kMillisecond);

void BM_TinyParts(benchmark::State& state) {
  constexpr std::int64_t kParts = 100'000;
  std::string body;
  for (std::int64_t i = 0; i < kParts; ++i) body += part(fmt::format("{}.blob", i), "tiny");
  body += fmt::format("--{}--", kBoundary);
  for (auto _ : state) {
    if (read_all(body) != kParts) state.SkipWithError("a part is missing");
  }
  state.SetItemsProcessed(state.iterations() * kParts);
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * body.size()));
}
BENCHMARK(BM_TinyParts)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace quern::step
