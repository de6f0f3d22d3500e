#include "worker/channel.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "io/system_error.h"

namespace quern::worker {
namespace {

constexpr std::size_t kControlBytes =
    CMSG_SPACE(sizeof(int) * kChannelDescriptorsMax) + CMSG_SPACE(sizeof(ucred));

void take_control(msghdr& message, Received& received) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET) continue;
    if (c->cmsg_type == SCM_CREDENTIALS) {
      ucred sender;
      std::memcpy(&sender, CMSG_DATA(c), sizeof sender);
      received.sender = sender.pid;
    } else if (c->cmsg_type == SCM_RIGHTS) {
      const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int number = -1;
        std::memcpy(&number, CMSG_DATA(c) + i * sizeof(int), sizeof number);
        received.descriptors.emplace_back(number);
      }
    }
  }
}

}  // namespace

Result<ChannelPair> make_channel() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return io::system_error(errno, "make a socket pair");
  }
  ChannelPair pair{io::Descriptor(ends[0]), io::Descriptor(ends[1])};
  const int on = 1;
  if (::setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0 ||
      ::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
    return io::system_error(errno, "prepare a socket pair");
  }
  return pair;
}

Result<> send_message(int channel, std::string_view bytes, std::span<const int> descriptors) {
  CHECK(descriptors.size() <= kChannelDescriptorsMax);
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[kControlBytes] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  while (::sendmsg(channel, &message, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return io::system_error(errno, "send to the box");
  }
  return {};
}

Result<Received> receive_message(int channel) {
  Received received;
  received.bytes.resize(kChannelBytesMax);
  alignas(cmsghdr) char control[kControlBytes];
  iovec part{received.bytes.data(), received.bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t n = -1;
  while ((n = ::recvmsg(channel, &message, MSG_CMSG_CLOEXEC)) < 0) {
    if (errno == EAGAIN) return Error{Errc::Busy, "nothing there yet"};
    if (errno == ECONNRESET) n = 0;
    if (n == 0) break;
    if (errno != EINTR) return io::system_error(errno, "receive from the box");
  }
  received.bytes.resize(static_cast<std::size_t>(n));
  if (n > 0) take_control(message, received);
  return received;
}

}  // namespace quern::worker
