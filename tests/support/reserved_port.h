// A TCP port of 127.0.0.1 that nobody else is given as long as the object lives.
//
// A port that was merely free a moment ago is soon some client's own: a server that takes seconds
// to start finds it gone. This one stays bound without listening, and the kernel lets a server that
// sets SO_REUSEADDR (all of ours do, and those of PostgreSQL and Ceph) listen on it beside us.
#pragma once

#include "io/descriptor.h"

namespace quern::support {

class ReservedPort {
 public:
  ReservedPort();
  int number() const { return number_; }

 private:
  io::Descriptor socket_;
  int number_ = 0;
};

}  // namespace quern::support
