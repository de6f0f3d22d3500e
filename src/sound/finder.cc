#include "sound/finder.h"

namespace quern::sound {

struct Clip::Parts {
  std::vector<float> samples;
};

std::int64_t Fingerprint::duration_ns() const {
  return samples_ * 1'000'000'000 / kRate;
}
std::string Fingerprint::encode() const {
  return {};
}
Result<Fingerprint> Fingerprint::decode(std::string_view) {
  return Error(Errc::Invalid, "not yet");
}
Result<Fingerprint> make_fingerprint(Source&, Waveform*) {
  return Error(Errc::Invalid, "not yet");
}
std::int64_t Clip::samples() const {
  return static_cast<std::int64_t>(parts_->samples.size());
}
std::int64_t Clip::duration_ns() const {
  return samples() * 1'000'000'000 / kRate;
}
std::size_t Clip::bytes() const {
  return parts_->samples.size() * sizeof(float);
}
Result<Clip> prepare(Source&, Waveform*) {
  return Error(Errc::Invalid, "not yet");
}
Result<std::vector<Candidate>> candidates(const Fingerprint&, const Clip&) {
  return std::vector<Candidate>();
}
Result<std::vector<Occurrence>> confirm(Source&, const Clip&, std::span<const Candidate>) {
  return std::vector<Occurrence>();
}
Result<> confirm(Source&, std::span<const Search> searches, const OnFound& on_found) {
  for (std::size_t i = 0; i < searches.size(); ++i) TRY(on_found(i, {}));
  return {};
}

}  // namespace quern::sound
