// quern serve
#include <fmt/format.h>

#include <boost/json.hpp>

#include "app/command.h"
#include "app/output.h"
#include "app/stop_signal.h"
#include "base/log.h"

namespace quern::app {
namespace {

constexpr std::int64_t kOwnerRetryMs = 50;

// A short command may own the folder just now; it is waited for.
net::Task<Result<std::unique_ptr<Node>>> open_node(net::Loop& loop, const Config& config,
                                                   StopSignal& stop) {
  const net::Instant give_up = net::in_ms(config.owner_wait_ms);
  bool told = false;
  while (true) {
    Result<std::unique_ptr<Node>> node =
        Node::open(loop, config, Listen::ConfiguredToo, Working::Yes);
    if (node.ok() || node.error().kind() != Errc::Busy) co_return node;
    const auto owner = io::read_owner(config.data);
    const std::string who = owner.ok() && *owner
                                ? fmt::format("process {} since {}", (*owner)->pid, (*owner)->since)
                                : "another process";
    if (net::in_ms(0) >= give_up) {
      co_return std::move(node).error().with_context("owned by " + who);
    }
    if (!told) log_info("serve.waiting", {{"for", who}, {"folder", config.data.string()}});
    told = true;
    if (co_await stop.asked_within(kOwnerRetryMs)) {
      co_return Error{Errc::Canceled, "stopped while waiting for " + who};
    }
  }
}

Result<> announce(const Command& command, const Node& node) {
  boost::json::array addresses;
  for (const net::Endpoint& endpoint : node.endpoints()) {
    const bool tcp = endpoint.kind == net::Endpoint::Kind::Tcp;
    const std::string address = (tcp ? "http://" : "") + endpoint.to_string();
    if (command.format == OutputFormat::Human) TRY(print_line("listening on " + address));
    addresses.emplace_back(address);
  }
  if (command.format == OutputFormat::Human) return {};
  const boost::json::object line{{"listening", std::move(addresses)},
                                 {"data", command.config.data.string()}};
  return print_line(boost::json::serialize(line));
}

}  // namespace

net::Task<Result<int>> serve(Command command) {
  StopSignal stop(command.loop);
  CO_TRY_ASSIGN(const std::unique_ptr<Node> node,
                co_await open_node(command.loop, command.config, stop));
  // Serving goes on where nobody reads that.
  const Result<> announced = announce(command, *node);
  if (!announced.ok()) log_warn("serve.unheard", {{"error", announced.error().message()}});
  co_await stop.asked();
  co_await node->close(command.config.grace_ms);
  log_info("serve.stopped");
  co_return kExitDone;
}

}  // namespace quern::app
