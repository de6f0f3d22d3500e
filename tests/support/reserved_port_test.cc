#include "support/reserved_port.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <vector>

namespace quern::support {
namespace {

bool listens_on(int port, int reuse) {
  const io::Descriptor server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::setsockopt(server.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse), 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  address.sin_port = ::htons(static_cast<std::uint16_t>(port));
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  return ::bind(server.get(), generic, sizeof address) == 0 && ::listen(server.get(), 1) == 0;
}

TEST(ReservedPortTest, IsForServersThatShareIt) {
  const ReservedPort port;
  EXPECT_TRUE(listens_on(port.number(), 1));
  EXPECT_TRUE(listens_on(port.number(), 1)) << "and again, after the first";
  EXPECT_FALSE(listens_on(port.number(), 0));
}

// The kernel draws from some 14,000 even or odd numbers: that many draws would find one of forty
// with near certainty.
TEST(ReservedPortTest, IsGivenToNobodyElse) {
  const std::vector<ReservedPort> ours(40);
  for (int i = 0; i < 5000; ++i) {
    const ReservedPort other;
    for (const ReservedPort& port : ours) ASSERT_NE(other.number(), port.number());
  }
}

}  // namespace
}  // namespace quern::support
