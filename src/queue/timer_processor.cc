#include "queue/timer_processor.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "queue/message.h"

namespace quern::queue {
namespace {

namespace json = boost::json;

constexpr char kTimerQueue[] = "TIMER";

Result<> set_timer(store::Tx& tx, const SetTimer& set) {
  TRY(std::move(apply(tx, std::span<const SetTimer>(&set, 1))[0]));
  return {};
}

Outcome process_message(const Work& work, const std::function<void()>& poke) {
  const Result<SetTimer> set = parse_set_timer(work.item.data);
  if (!set.ok()) {
    Outcome outcome = Outcome::failed(set.error().message());
    outcome.no_retry = true;
    return outcome;
  }
  Outcome outcome = Outcome::complete();
  outcome.effect = [set = *set](store::Tx& tx) { return set_timer(tx, set); };
  poke();
  return outcome;
}

}  // namespace

Result<SetTimer> parse_set_timer(std::string_view message) {
  TRY_ASSIGN(const Message parsed, parse_message(kTimerQueue, message));
  boost::system::error_code failed;
  const json::value value = json::parse(parsed.body, failed);
  CHECK(!failed && value.is_object());
  const json::object& body = value.get_object();
  SetTimer set;
  set.how = parsed.type == "start_timer" ? SetTimer::How::Start : SetTimer::How::Reset;
  set.key = body.at("site").get_string();
  if (const json::value* timeout = body.if_contains("timeout")) {
    const double seconds = timeout->to_number<double>(failed);
    set.timeout_us = std::max<std::int64_t>(1, std::llround(seconds * 1e6));
  }
  if (const json::value* callback = body.if_contains("callback_msg")) {
    set.callback_queue = body.at("callback_queue").get_string();
    set.callback_msg = json::serialize(*callback);
  }
  return set;
}

std::shared_ptr<Processor> make_timer_processor(std::function<void()> poke) {
  return make_processor(
      [poke = std::move(poke)](const Work& work) { return process_message(work, poke); });
}

}  // namespace quern::queue
