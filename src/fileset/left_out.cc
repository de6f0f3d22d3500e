#include "fileset/left_out.h"

#include <fmt/format.h>

#include "fileset/platform_api.h"

namespace quern::fileset {

void LeftOut::add(const std::string& path, const std::string& why) {
  files_.push_back(fmt::format("{} ({})", path, why));
}

std::string LeftOut::text() const {
  std::string all =
      fmt::format("{} {} left out: ", files_.size(), files_.size() == 1 ? "file is" : "files are");
  for (std::size_t i = 0; i < files_.size() && i < kLeftOutShown; ++i) {
    if (i > 0) all += ", ";
    all += files_[i];
  }
  if (files_.size() > kLeftOutShown) all += ", …";
  return all;
}

PlatformAnswer LeftOut::refusal(std::string status) const {
  return refused(std::move(status), "nothing can be had; " + text());
}

void LeftOut::note(PlatformItem& item) const {
  if (!empty()) item.archiveorg_item_meta["notes"] = text();
}

PlatformAnswer LeftOut::noted(PlatformAnswer answer) const {
  if (!empty() && answer.message.empty()) answer.message = text();
  return answer;
}

}  // namespace quern::fileset
