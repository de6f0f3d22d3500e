// Channel: messages with descriptors between the broker and its zygote, over a socket pair.
//
// Each message arrives whole or not at all (SOCK_SEQPACKET). The broker's end also learns which
// process sent it, as the kernel knows it: that is how a child in a process namespace of its own
// gets a number that the broker can use.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/descriptor.h"

namespace quern::worker {

inline constexpr std::size_t kChannelDescriptorsMax = 128;
inline constexpr std::size_t kChannelBytesMax = 16 * 1024;

struct ChannelPair {
  io::Descriptor broker;  // does not block
  io::Descriptor zygote;
};
Result<ChannelPair> make_channel();

struct Received {
  std::string bytes;  // empty: the other end has gone
  std::vector<io::Descriptor> descriptors;
  pid_t sender = 0;  // 0 where unknown
};
Result<> send_message(int channel, std::string_view bytes, std::span<const int> descriptors = {});
// Busy where nothing is there and the end does not block.
Result<Received> receive_message(int channel);

// What the broker asks of the zygote: followed by the descriptors task, output, end, note, inputs.
struct RunOrder {
  std::uint64_t memory_bytes = 0;
  std::uint64_t scratch_bytes = 0;
  std::uint64_t open_files = 0;
  std::uint64_t cpu_s = 0;
  std::uint64_t members = 0;
  std::uint64_t ratio = 0;
  std::uint64_t ratio_from_bytes = 0;
  std::uint64_t text_characters = 0;
  std::uint64_t text_pages = 0;
  std::int64_t job = 0;  // tasks of one job may share a kept child; 0: of none that is known
  char boundary[64] = {};
};
inline constexpr std::size_t kOrderDescriptors = 4;

// What the zygote (Ready, Ended) and the child (Started) say.
struct Report {
  enum class Kind : std::uint32_t { Ready = 1, Started, Ended };
  Kind kind = Kind::Ready;
  std::int32_t wait_status = 0;
  std::int64_t cpu_us = 0;
  std::int64_t peak_kib = 0;
};

template <class T>
std::string_view bytes_of(const T& message) {
  return {reinterpret_cast<const char*>(&message), sizeof message};
}

}  // namespace quern::worker
