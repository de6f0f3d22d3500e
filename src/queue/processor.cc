#include "queue/processor.h"

#include <fmt/format.h>

#include <exception>

#include "net/target.h"

namespace quern::queue {
namespace {

class FunctionProcessor final : public Processor {
 public:
  explicit FunctionProcessor(std::function<Outcome(const Work&)> function)
      : function_(std::move(function)) {}

  // Only the function is tried: what the callback throws is not the processor's doing.
  void process(Work work, Answered answered) override { answered(outcome_of(work)); }

 private:
  Outcome outcome_of(const Work& work) const {
    try {
      return function_(work);
    } catch (const std::exception& exception) {
      return Outcome::failed(fmt::format("the processor threw: {}", exception.what()));
    } catch (...) {
      return Outcome::failed("the processor threw: something that is no exception");
    }
  }

  std::function<Outcome(const Work&)> function_;
};

}  // namespace

std::string Work::idempotency_key() const {
  // With its id: an item that is deleted and put again is another one.
  return fmt::format("{}/{}/{}.{}", net::percent_encoded(partition_name),
                     net::percent_encoded(item.name), item.id, item.steps);
}

std::shared_ptr<Processor> make_processor(std::function<Outcome(const Work&)> function) {
  return std::make_shared<FunctionProcessor>(std::move(function));
}

}  // namespace quern::queue
