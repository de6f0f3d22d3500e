// Door: how a command reaches Quern, whoever serves it.
//
// With --server it is a client of that server. Otherwise it is a client of whoever owns the data
// folder, and where nobody does, it becomes the owner itself and serves other commands while it
// lives. If the owner goes in the middle, the request is made again of the next one, or of
// ourselves: so every request that changes something carries a key that makes repeating it
// harmless.
//
// Waiting is bounded by config.owner_wait_ms (but an owner has at least 5 s to begin its answer)
// and says on standard error what it waits for.
#pragma once

#include <memory>
#include <optional>

#include "app/config.h"
#include "app/node.h"
#include "net/client.h"
#include "net/loop.h"

namespace quern::app {

inline constexpr std::size_t kAnswerBytesMax = 64 * 1024 * 1024;

class Door {
 public:
  // Working: where it becomes the owner, it also does the folder's work.
  Door(net::Loop& loop, const Config& config, Working working = Working::No)
      : loop_(loop), config_(config), working_(working) {}
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  // The answer, whatever its status, except 503: that is waited out like an owner that is away.
  net::Task<Result<net::Response>> call(net::Request request);
  // A body of any size, piece by piece. Once: what breaks off is an error, as is any status but
  // 200.
  using Take = std::function<Result<>(std::string_view)>;
  net::Task<Result<>> download(net::Request request, Take take);
  // Ends the node, if we became one.
  net::Task<> close();

 private:
  struct Watch;
  class Watched;

  Result<> become_owner();
  Result<> find_way();
  Error nobody_answers(const Error& last) const;

  net::Loop& loop_;
  const Config& config_;
  const Working working_;
  std::unique_ptr<Node> node_;
  std::optional<net::Client> client_;
  std::shared_ptr<Watch> watch_;
};

}  // namespace quern::app
