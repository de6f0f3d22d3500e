// Questions: what does a durable blob cost, small (in the row) and large (a file), one at a time
// and in batches; and how fast is a large stream hashed, written and verified? Expect: small ones
// cost little more than their rows; a large one costs its syncs of the disk; the stream is bound by
// SHA-256 and SHA-1 together, or by the disk.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <filesystem>
#include <future>
#include <random>

#include "blob/blob.h"

namespace quern::blob {
namespace {

using store::Tx;

std::string random_bytes(std::size_t size) {
  static std::mt19937_64 random(17);
  std::string bytes;
  while (bytes.size() < size) {
    const std::uint64_t number = random();
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  bytes.resize(size);
  return bytes;
}

// A store on SQLite in a folder that goes with it.
class BenchStore {
 public:
  BenchStore() {
    std::string name = (std::filesystem::temp_directory_path() / "blob_bench_XXXXXX").native();
    CHECK(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
    database_ = *store::Database::open({store::StoreKind::Sqlite, folder_ / "store.db"}, {});
    writer_ = *store::Writer::open(*database_, {});
    readers_ = *store::Readers::open(*database_, {});
    store_ = *BlobStore::open(BlobUrl::of_folder(folder_ / "blobs"), *writer_, *readers_,
                              BlobStore::Owner::Only);
  }
  ~BenchStore() {
    store_.reset();
    readers_.reset();
    writer_.reset();
    database_.reset();
    std::error_code failed;
    std::filesystem::remove_all(folder_, failed);
  }

  Put put(const std::string& bytes) {
    Spool spool(*store_);
    CHECK_OK(spool.write(bytes));
    return *spool.finish();
  }
  // All that wait share syncs.
  std::vector<Put> put_together(std::int64_t count, std::size_t bytes) {
    std::vector<std::promise<Put>> promises(static_cast<std::size_t>(count));
    for (std::promise<Put>& promise : promises) {
      Spool spool(*store_);
      CHECK_OK(spool.write(random_bytes(bytes)));
      store_->finish(std::move(spool),
                     [&](Result<Put> put) { promise.set_value(*std::move(put)); });
    }
    std::vector<Put> puts;
    for (std::promise<Put>& promise : promises) puts.push_back(promise.get_future().get());
    return puts;
  }
  std::vector<Stored> store(const std::vector<Put>& puts) {
    std::vector<const Put*> all;
    for (const Put& put : puts) all.push_back(&put);
    return *writer_->run(store::LaneKey{}, [&](Tx& tx) { return store_blobs(tx, all); });
  }
  Blob load(BlobId id) {
    return *readers_->run([id](Tx& tx) { return load_blob(tx, id, Data::With); });
  }
  BlobStore& blobs() { return *store_; }

 private:
  std::filesystem::path folder_;
  std::unique_ptr<store::Database> database_;
  std::unique_ptr<store::Writer> writer_;
  std::unique_ptr<store::Readers> readers_;
  std::unique_ptr<BlobStore> store_;
};

void BM_PutAndStore(benchmark::State& state) {
  BenchStore bench;
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const std::int64_t batch = state.range(1);
  for (auto _ : state) {
    std::vector<Put> puts;
    for (std::int64_t i = 0; i < batch; ++i) puts.push_back(bench.put(random_bytes(bytes)));
    benchmark::DoNotOptimize(bench.store(puts));
  }
  state.SetItemsProcessed(state.iterations() * batch);
  state.SetBytesProcessed(state.iterations() * batch * state.range(0));
}
BENCHMARK(BM_PutAndStore)
    ->ArgNames({"bytes", "batch"})
    ->Args({1000, 1})
    ->Args({1000, 100})
    ->Args({16'000, 100})
    ->Args({40'000, 1})
    ->Args({40'000, 100})
    ->UseRealTime();

void BM_PutTogetherAndStore(benchmark::State& state) {
  BenchStore bench;
  const std::int64_t batch = state.range(1);
  for (auto _ : state) {
    const auto puts = bench.put_together(batch, static_cast<std::size_t>(state.range(0)));
    benchmark::DoNotOptimize(bench.store(puts));
  }
  state.SetItemsProcessed(state.iterations() * batch);
  state.SetBytesProcessed(state.iterations() * batch * state.range(0));
}
BENCHMARK(BM_PutTogetherAndStore)
    ->ArgNames({"bytes", "batch"})
    ->Args({40'000, 10})
    ->Args({40'000, 100})
    ->UseRealTime();

void BM_Stream(benchmark::State& state) {
  BenchStore bench;
  const std::string piece = random_bytes(1'000'000);
  constexpr int kPieces = 100;
  for (auto _ : state) {
    Spool spool(bench.blobs());
    for (int i = 0; i < kPieces; ++i) CHECK_OK(spool.write(piece));
    benchmark::DoNotOptimize(*spool.finish());
  }
  state.SetBytesProcessed(state.iterations() * kPieces * static_cast<std::int64_t>(piece.size()));
}
BENCHMARK(BM_Stream)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_Verify(benchmark::State& state) {
  BenchStore bench;
  const Stored stored = bench.store({bench.put(random_bytes(50'000'000))})[0];
  const Blob blob = bench.load(stored.id);
  std::string into(256 * 1024, '\0');
  for (auto _ : state) {
    VerifyingReader reader(*bench.blobs().open_blob(blob), blob);
    while (*reader.read(into) > 0) {
    }
  }
  state.SetBytesProcessed(state.iterations() * blob.bytes);
}
BENCHMARK(BM_Verify)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace quern::blob
