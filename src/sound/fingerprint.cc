// Fingerprints of episodes: how they are made and kept.
//
//   "QFP1"  u32 samples low  u32 samples high  u32 words  words...  u32 CRC-32 of all before
//
// All numbers little-endian.
#include <array>
#include <bit>
#include <cstring>

#include "sound/finder.h"
#include "sound/peaks.h"
#include "sound/words.h"

namespace quern::sound {
namespace {

constexpr std::string_view kMagic = "QFP1";
constexpr std::size_t kHeadBytes = 16;
constexpr std::size_t kReadSamples = 1 << 16;
constexpr std::int64_t kSamplesMax = kEpisodeNsMax / 1'000'000'000 * kRate;

static_assert(kFingerprintVersion == 1, "the first bytes say which version it is");
static_assert(std::endian::native == std::endian::little, "words are copied as they are");

std::uint32_t crc32(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) * 0xEDB88320U);
      made[i] = value;
    }
    return made;
  }();
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
  }
  return ~crc;
}

void put(std::string& bytes, std::uint32_t number) {
  char raw[4];
  std::memcpy(raw, &number, 4);
  bytes.append(raw, 4);
}

std::uint32_t get(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data() + at, 4);
  return number;
}

std::size_t words_in(std::int64_t samples) {
  const auto count = static_cast<std::size_t>(samples);
  return count < kWordSpan ? 0 : (count - kWordSpan) / kHop + 1;
}

}  // namespace

std::int64_t Fingerprint::duration_ns() const {
  return samples_ / kRate * 1'000'000'000 + samples_ % kRate * 1'000'000'000 / kRate;
}

std::string Fingerprint::encode() const {
  std::string bytes(kMagic);
  bytes.reserve(kHeadBytes + words_.size() * 4 + 4);
  put(bytes, static_cast<std::uint32_t>(samples_));
  put(bytes, static_cast<std::uint32_t>(samples_ >> 32));
  put(bytes, static_cast<std::uint32_t>(words_.size()));
  bytes.append(reinterpret_cast<const char*>(words_.data()), words_.size() * 4);
  put(bytes, crc32(bytes));
  return bytes;
}

Result<Fingerprint> Fingerprint::decode(std::string_view bytes) {
  const Error damaged(Errc::Invalid,
                      "the fingerprint is damaged or of another version: make it again");
  if (bytes.size() < kHeadBytes + 4 || !bytes.starts_with(kMagic)) return damaged;
  const auto samples =
      static_cast<std::int64_t>(std::uint64_t(get(bytes, 8)) << 32 | get(bytes, 4));
  if (samples < 0 || samples > kSamplesMax) return damaged;
  const std::size_t count = get(bytes, 12);
  if (count != words_in(samples) || bytes.size() != kHeadBytes + count * 4 + 4) return damaged;
  if (crc32(bytes.substr(0, bytes.size() - 4)) != get(bytes, bytes.size() - 4)) return damaged;
  std::vector<std::uint32_t> words(count);
  std::memcpy(words.data(), bytes.data() + kHeadBytes, count * 4);
  return Fingerprint(samples, std::move(words));
}

Result<Fingerprint> make_fingerprint(Source& episode, Waveform* waveform) {
  TRY(episode.seek(0));
  std::vector<float> buffer(kReadSamples);
  std::vector<Bands> frames;
  std::vector<std::uint32_t> words;
  BandMaker maker;
  Peaks peaks(kWaveformPoints);
  std::int64_t samples = 0;
  while (true) {
    TRY_ASSIGN(const std::size_t got, episode.read(buffer));
    if (got == 0) break;
    samples += static_cast<std::int64_t>(got);
    if (samples > kSamplesMax) {
      return Error(Errc::Invalid, "the episode is longer than 48 hours; cut it into parts");
    }
    const std::span<const float> read = std::span(buffer).first(got);
    if (waveform != nullptr) {
      for (const float sample : read) peaks.add(sample);
    }
    maker.add(read, frames);
    if (frames.size() <= kLag) continue;
    for (std::size_t n = 0; n + kLag < frames.size(); ++n) {
      words.push_back(word_of(gains(frames[n], frames[n + kLag], kFloor)));
    }
    frames.erase(frames.begin(), frames.end() - kLag);
  }
  if (samples == 0) return Error(Errc::Invalid, "the episode has no sound");
  if (waveform != nullptr) waveform->points = peaks.finish();
  return Fingerprint(samples, std::move(words));
}

}  // namespace quern::sound
