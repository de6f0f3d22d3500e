// Descriptor: the one owner of a file descriptor; closes it.
//
// Whatever opens one in Quern sets close-on-exec, so that no child holds what it was not given.
#pragma once

#include <utility>

#include "base/result.h"

namespace quern::io {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      number_ = other.release();
    }
    return *this;
  }

  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  // Gives the number away: the caller closes it.
  int release() { return std::exchange(number_, -1); }
  // Harmless when closed already. What must reach the disk is synced before, so an error of close()
  // says nothing that anybody could act on.
  void close();

 private:
  int number_ = -1;
};

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};
// Busy where no descriptor is left.
Result<Pipe> make_pipe();

}  // namespace quern::io
