// The lines of a robots.txt, whatever ends them and however the keys are misspelt. Pure.
#pragma once

#include <functional>
#include <string_view>

namespace quern::web {

struct RobotsLine {
  enum class Kind { Agent, Allow, Disallow, Delay, Sitemap, Other };
  Kind kind = Kind::Other;
  std::string_view value;  // without comment and blanks around
  int number = 0;          // from 1
};

// Those with a key; at most kRobotsBytesMax bytes are read.
void for_each_robots_line(std::string_view body,
                          const std::function<void(const RobotsLine&)>& take);

}  // namespace quern::web
