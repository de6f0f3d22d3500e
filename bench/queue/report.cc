#include "bench/queue/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace quern::bench {

double percentile(std::vector<double> samples, double part) {
  CHECK(!samples.empty());
  std::sort(samples.begin(), samples.end());
  const auto at = static_cast<std::size_t>(part * static_cast<double>(samples.size()));
  return samples[std::min(at, samples.size() - 1)];
}

void Report::add(const Figure& figure) const {
  const int digits = figure.value < 100 ? 2 : 0;
  if (format_ == Format::Json) {
    const std::string ratio =
        figure.against.empty()
            ? ""
            : fmt::format(R"(,"against":"{}","ratio":{:.3f})", figure.against, figure.ratio);
    fmt::print("{{\"store\":\"{}\",\"case\":\"{}\",\"value\":{:.{}f},\"unit\":\"{}\"{}}}\n",
               figure.store, figure.name, figure.value, digits, figure.unit, ratio);
  } else {
    const std::string ratio =
        figure.against.empty() ? "" : fmt::format("  {:.3f} of {}", figure.ratio, figure.against);
    fmt::print("{:<9} {:<52} {:>10.{}f} {:<8}{}\n", figure.store, figure.name, figure.value, digits,
               figure.unit, ratio);
  }
  std::fflush(stdout);
}

}  // namespace quern::bench
