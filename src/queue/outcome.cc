#include "queue/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/check.h"
#include "base/utf8.h"
#include "io/clock.h"

namespace quern::queue {
namespace {

namespace json = boost::json;

// Beyond so many doublings any delay has reached its limit.
constexpr std::int64_t kDoublingsMax = 40;

Finished as_it_was(const Taken& taken) {
  Finished finished;
  finished.id = taken.id;
  finished.version = taken.version;
  finished.gate = taken.gate;
  finished.retry_count = taken.retry_count;
  finished.steps = taken.steps;
  return finished;
}

Finished fail(const Taken& taken, const Outcome& outcome, const PartitionConfig& config,
              double random, std::int64_t now_us) {
  Finished finished = as_it_was(taken);
  finished.retry_count = taken.retry_count + 1;
  finished.errors = add_error(taken.errors, outcome.error, now_us);
  const bool exhausted = config.max_retries >= 0 && finished.retry_count > config.max_retries;
  if (outcome.no_retry || exhausted) {
    finished.status = Status::Failed;
    return finished;
  }
  finished.status = Status::Delayed;
  finished.delay_us = std::max(backoff_us(config, finished.retry_count, random), outcome.delay_us);
  return finished;
}

// What is wrong with a move; empty: nothing.
std::string find_fault(const Taken& taken, const Outcome& outcome) {
  const std::int64_t gate = outcome.gate.value_or(taken.gate);
  // Where it is done the gate says nothing: programs that leave fields out write 0.
  if (gate < taken.gate && !outcome.done) {
    return fmt::format("the handler answered gate {}, below the item's gate {}", gate, taken.gate);
  }
  if (gate > kGateMax) {
    return fmt::format("the handler answered gate {}, above the last gate {}", gate, kGateMax);
  }
  if (outcome.data && outcome.data->size() > kItemBytesMax) {
    return over_limit("the item's new data", static_cast<std::int64_t>(outcome.data->size()),
                      kItemBytesMax, "queue.item_bytes_max")
        .message();
  }
  if (taken.steps >= kStepsMax) {
    return fmt::format("the item is not done after {} steps", taken.steps);
  }
  return {};
}

bool moves(const Taken& taken, const Outcome& outcome) {
  return outcome.done || outcome.gate.value_or(taken.gate) != taken.gate ||
         (outcome.data && *outcome.data != taken.data);
}

Finished move_on(const Taken& taken, Outcome outcome, const PartitionConfig& config,
                 double random) {
  Finished finished = as_it_was(taken);
  finished.retry_count = 0;
  finished.steps = taken.steps + 1;
  finished.gate = std::max(outcome.gate.value_or(taken.gate), taken.gate);
  finished.effect = std::move(outcome.effect);
  if (!moves(taken, outcome)) {
    // A handler that says nothing for ever is asked now and then, not in a circle.
    finished.status = Status::Delayed;
    finished.delay_us = backoff_us(config, 1, random);
    return finished;
  }
  finished.status = outcome.done ? Status::Complete : Status::Available;
  finished.data = std::move(outcome.data);
  return finished;
}

std::string clean_message(std::string_view message) {
  // The cut comes first, so that a message of any size costs little; U+FFFD is longer than the byte
  // it stands for, so it comes again behind.
  std::string clean = valid_utf8(message.substr(0, kErrorBytesMax));
  if (clean.size() > kErrorBytesMax) clean.resize(kErrorBytesMax);
  clean.resize(valid_utf8_prefix(clean));
  for (char& c : clean) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return clean;
}

// The stored list; an empty one where there is none yet.
json::array parse_errors(const std::string& errors) {
  boost::system::error_code failed;
  json::value value = json::parse(errors, failed);
  if (failed || !value.is_array()) return {};
  return std::move(value.get_array());
}

bool is_about(const json::value& entry, std::string_view message) {
  const json::object* object = entry.if_object();
  const json::value* stored = object == nullptr ? nullptr : object->if_contains("message");
  return stored != nullptr && stored->is_string() && stored->get_string() == message;
}

std::int64_t times_of(const json::value& entry) {
  const json::value* times = entry.get_object().if_contains("times");
  return times != nullptr && times->is_int64() ? times->get_int64() : 1;
}

}  // namespace

Finished settle(const Taken& taken, Outcome outcome, const PartitionConfig& config, double random,
                std::int64_t now_us) {
  CHECK(outcome.kind != Outcome::Kind::Canceled);
  if (outcome.kind == Outcome::Kind::Refused) {
    Finished finished = as_it_was(taken);
    finished.status = Status::Delayed;
    finished.delay_us = std::max<std::int64_t>(outcome.delay_us, 0);
    finished.counted = false;
    return finished;
  }
  if (outcome.kind == Outcome::Kind::Failed) {
    Finished finished = fail(taken, outcome, config, random, now_us);
    finished.effect = std::move(outcome.effect);
    return finished;
  }
  const std::string fault = find_fault(taken, outcome);
  if (fault.empty()) return move_on(taken, std::move(outcome), config, random);
  Outcome failed = Outcome::failed(fault);
  failed.no_retry = true;
  return fail(taken, failed, config, random, now_us);
}

std::int64_t backoff_us(const PartitionConfig& config, std::int64_t retry, double random) {
  const std::int64_t limit_ms = std::max<std::int64_t>(config.backoff_ms_max, 0);
  const std::int64_t doublings = std::clamp<std::int64_t>(retry - 1, 0, kDoublingsMax);
  // As a floating number, which has room for any product; the limit brings it back.
  const double grown_ms =
      static_cast<double>(config.backoff_ms) * static_cast<double>(std::int64_t{1} << doublings);
  const double full_us = std::clamp(grown_ms, 0.0, static_cast<double>(limit_ms)) * 1000.0;
  return static_cast<std::int64_t>(full_us * (1.0 - random / 2.0));
}

std::string add_error(const std::string& errors, std::string_view message, std::int64_t at_us) {
  const std::string clean = clean_message(message);
  json::array list = parse_errors(errors);
  std::int64_t times = 1;
  if (!list.empty() && is_about(list.back(), clean)) {
    times += times_of(list.back());
    list.pop_back();
  }
  const json::object entry{{"message", clean}, {"at", io::utc_text(at_us)}, {"times", times}};
  list.push_back(entry);
  while (list.size() > kErrorsKeptMax) list.erase(list.begin());
  return json::serialize(list);
}

}  // namespace quern::queue
