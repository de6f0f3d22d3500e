// Renderer: makes the PDF and the thumbnail of a web page when somebody asks for them.
//
//   ask() -> an item of the partition "quern:render", named by the file -> its owner has the step
//   Html make it (Pipeline::render) -> tree::keep_rendering() -> everybody who asks gets it
//
// Guarantee: a rendering is made by one server at a time, and kept once; killed at any instant, it
// is absent or whole, and is gone on with by the next owner of the partition. One that cannot be
// made is kept as a failure after kRenderAttemptsMax attempts, and not tried again. How: the item's
// name is unique, the row is written behind the partition's fence, and an item whose row stands
// only ends. Asking writes nothing that lists, sums or search show.
//
// Bounds: kRenderingsAtOnceMax are under way, Limits::renderings_wanted_max with those that wait,
// kRenderAskersMax requests of this server wait for one; Limits::rendering_bytes_max is the PDF's.
//
// Threads: the loop's. Lifetime: the pipeline's parts outlive it.
#pragma once

#include <functional>
#include <memory>

#include "net/exchange.h"
#include "queue/processor.h"
#include "step/pipeline.h"
#include "tree/rendering.h"

namespace quern::step {

// The kind of the partition of renderings, and its name.
inline constexpr char kRenderKind[] = "quern:render";
inline constexpr std::int64_t kRenderingsAtOnceMax = 4;
// Ends that a box saw, workers that were lost.
inline constexpr std::int64_t kRenderAttemptsMax = 3;
// With servers that died meanwhile.
inline constexpr std::int64_t kRenderCallsMax = 20;
inline constexpr std::int64_t kRenderAskersMax = 200;

class Renderer final : public queue::Processor {
 public:
  // `poke`: something was put into a partition.
  Renderer(std::shared_ptr<Pipeline> pipeline, std::function<void(queue::PartitionId)> poke);
  ~Renderer() override;
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  // The rendering of a document that needs one; where there is none it is ordered, and waited for
  // until the deadline. Busy where it is not there by then, or too many wait; Unavailable where
  // nobody here can make it.
  net::Task<Result<tree::Rendering>> ask(net::Exchange& exchange, tree::FileId file,
                                         net::Instant deadline);

  void process(queue::Work work, queue::Answered answered) override;

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace quern::step
