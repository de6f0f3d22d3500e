#include "api/progress.h"

namespace quern::api {
namespace {

// Beyond, "more than a month" is no estimate.
constexpr double kSecondsLeftMax = 30 * 86'400;

}  // namespace

void Estimate::add(double at_seconds, double progress, std::int64_t files_done) {
  // Another owner has it, or somebody counts anew: what we have seen says nothing any more.
  if (!samples_.empty() && progress < samples_.back().progress) samples_.clear();
  samples_.push_back({at_seconds, progress, files_done});
  while (samples_.size() > 2 && at_seconds - samples_[1].at >= kEstimateSecondsMax) {
    samples_.pop_front();
  }
}

const Estimate::Sample* Estimate::first() const {
  if (samples_.size() < 2) return nullptr;
  const Sample& first = samples_.front();
  return samples_.back().at - first.at >= kEstimateSecondsMin ? &first : nullptr;
}

std::optional<double> Estimate::rate() const {
  const Sample* from = first();
  if (from == nullptr) return std::nullopt;
  const Sample& now = samples_.back();
  return static_cast<double>(now.files - from->files) / (now.at - from->at);
}

std::optional<double> Estimate::seconds_left() const {
  const Sample* from = first();
  if (from == nullptr) return std::nullopt;
  const Sample& now = samples_.back();
  const double made = now.progress - from->progress;
  if (made <= 0) return std::nullopt;
  const double left = (1 - now.progress) * (now.at - from->at) / made;
  if (left > kSecondsLeftMax) return std::nullopt;
  return left;
}

}  // namespace quern::api
