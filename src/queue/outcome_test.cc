// What an outcome makes of an item.
#include "queue/outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <stdexcept>

#include "base/utf8.h"

namespace quern::queue {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

constexpr std::int64_t kNowUs = 1'800'000'000'000'000;
constexpr double kFull = 0.0;  // no jitter: the whole delay

Taken item_at(std::int64_t gate) {
  Taken taken;
  taken.id = {7};
  taken.name = "one";
  taken.gate = gate;
  taken.retry_count = 2;
  taken.calls = 5;
  taken.steps = 3;
  taken.errors = "[]";
  taken.data = R"({"a":1})";
  return taken;
}

Finished settled(const Taken& taken, Outcome outcome, const PartitionConfig& config = {}) {
  return settle(taken, std::move(outcome), config, kFull, kNowUs);
}

Outcome moved_to(std::optional<std::int64_t> gate, std::optional<std::string> data = {}) {
  Outcome outcome;
  outcome.gate = gate;
  outcome.data = std::move(data);
  return outcome;
}

std::string last_message(const Finished& finished) {
  const json::array list = json::parse(*finished.errors).get_array();
  return std::string(list.back().at("message").get_string());
}

TEST(OutcomeTest, AMoveGoesToItsGateAndForgetsTheRetries) {
  const Finished finished = settled(item_at(1), moved_to(2, R"({"a":2})"));
  EXPECT_EQ(finished.status, Status::Available);
  EXPECT_EQ(finished.id.value, 7);
  EXPECT_EQ(finished.gate, 2);
  EXPECT_EQ(finished.data, R"({"a":2})");
  EXPECT_EQ(finished.retry_count, 0);
  EXPECT_EQ(finished.steps, 4);
  EXPECT_TRUE(finished.counted);
  EXPECT_FALSE(finished.errors.has_value()) << "what went wrong before stays on record";
}

TEST(OutcomeTest, C17_MissingFieldsChangeNothing) {
  const Finished without_gate = settled(item_at(1), moved_to(std::nullopt, "{}"));
  EXPECT_EQ(without_gate.gate, 1);
  EXPECT_EQ(without_gate.status, Status::Available);
  const Finished without_data = settled(item_at(1), moved_to(2));
  EXPECT_EQ(without_data.gate, 2);
  EXPECT_FALSE(without_data.data.has_value());
  const Finished done = settled(item_at(1), Outcome::complete());
  EXPECT_EQ(done.status, Status::Complete);
  EXPECT_EQ(done.gate, 1);
  EXPECT_FALSE(done.data.has_value());
}

TEST(OutcomeTest, C17_AGateBelowTheItemsIsAnExplicitErrorForGood) {
  const Finished finished = settled(item_at(2), moved_to(1, "{}"));
  EXPECT_EQ(finished.status, Status::Failed);
  EXPECT_EQ(finished.gate, 2);
  EXPECT_FALSE(finished.data.has_value());
  EXPECT_EQ(finished.steps, 3);
  EXPECT_EQ(last_message(finished), "the handler answered gate 1, below the item's gate 2");
}

TEST(OutcomeTest, AnItemThatIsDoneNeedsNoGate) {
  Outcome outcome = moved_to(0);
  outcome.done = true;
  const Finished finished = settled(item_at(2), outcome);
  EXPECT_EQ(finished.status, Status::Complete);
  EXPECT_EQ(finished.gate, 2);
}

TEST(OutcomeTest, AGateAboveTheLastIsAnErrorForGood) {
  EXPECT_EQ(settled(item_at(0), moved_to(kGateMax)).status, Status::Available);
  const Finished finished = settled(item_at(0), moved_to(kGateMax + 1));
  EXPECT_EQ(finished.status, Status::Failed);
  EXPECT_THAT(last_message(finished), HasSubstr("above the last gate"));
}

TEST(OutcomeTest, C21_DataBeyondTheLimitFailForGoodAndNameIt) {
  EXPECT_EQ(settled(item_at(0), moved_to(1, std::string(kItemBytesMax, 'x'))).status,
            Status::Available);
  const Finished finished = settled(item_at(0), moved_to(1, std::string(kItemBytesMax + 1, 'x')));
  EXPECT_EQ(finished.status, Status::Failed);
  EXPECT_FALSE(finished.data.has_value());
  EXPECT_THAT(last_message(finished), HasSubstr("item_bytes_max"));
}

TEST(OutcomeTest, ACallThatMovesNothingWaits) {
  PartitionConfig config;
  config.backoff_ms = 700;
  for (const Outcome& same : {Outcome{}, moved_to(1), moved_to(1, R"({"a":1})")}) {
    const Finished finished = settled(item_at(1), same, config);
    EXPECT_EQ(finished.status, Status::Delayed);
    EXPECT_EQ(finished.delay_us, 700'000);
    EXPECT_EQ(finished.retry_count, 0);
    EXPECT_EQ(finished.steps, 4);
  }
}

TEST(OutcomeTest, StepsHaveAnEnd) {
  Taken taken = item_at(0);
  taken.steps = kStepsMax - 1;
  EXPECT_EQ(settled(taken, moved_to(1)).status, Status::Available);
  taken.steps = kStepsMax;
  const Finished finished = settled(taken, moved_to(1));
  EXPECT_EQ(finished.status, Status::Failed);
  EXPECT_THAT(last_message(finished), HasSubstr("not done after 1000000 steps"));
}

// How many calls a handler that always fails gets.
int calls_until_failed(std::int64_t max_retries, int calls_max) {
  PartitionConfig config;
  config.max_retries = max_retries;
  Taken taken = item_at(0);
  taken.retry_count = 0;
  for (int call = 1; call <= calls_max; ++call) {
    const Finished finished = settled(taken, Outcome::failed("no"), config);
    EXPECT_EQ(finished.retry_count, call);
    EXPECT_EQ(finished.steps, taken.steps) << "a repetition is the same step";
    if (finished.status == Status::Failed) return call;
    EXPECT_EQ(finished.status, Status::Delayed);
    taken.retry_count = finished.retry_count;
    taken.errors = *finished.errors;
  }
  return calls_max + 1;
}

TEST(OutcomeTest, C14_RetriesNoneThreeAndWithoutEnd) {
  EXPECT_EQ(calls_until_failed(0, 100), 1);
  EXPECT_EQ(calls_until_failed(3, 100), 4);
  EXPECT_EQ(calls_until_failed(-1, 100), 101);
}

TEST(OutcomeTest, C14_DelaysDoubleUpToTheLimitAndJitterTakesUpToHalf) {
  PartitionConfig config;
  config.backoff_ms = 100;
  config.backoff_ms_max = 1000;
  const std::int64_t expected_ms[] = {100, 200, 400, 800, 1000, 1000};
  for (int retry = 1; retry <= 6; ++retry) {
    const std::int64_t full_us = expected_ms[retry - 1] * 1000;
    EXPECT_EQ(backoff_us(config, retry, 0.0), full_us);
    EXPECT_EQ(backoff_us(config, retry, 0.5), full_us * 3 / 4);
    EXPECT_NEAR(static_cast<double>(backoff_us(config, retry, 0.999999)),
                static_cast<double>(full_us) / 2, 2.0);
  }
  EXPECT_EQ(backoff_us(config, 1'000'000'000, 0.0), 1'000'000);
}

TEST(OutcomeTest, C14_DelaysNeverOverflow) {
  PartitionConfig config;
  config.backoff_ms = 366 * 86'400'000LL;
  config.backoff_ms_max = 366 * 86'400'000LL;
  for (const std::int64_t retry : {std::int64_t{1}, std::int64_t{64}, std::int64_t{1'000'000'000},
                                   std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(backoff_us(config, retry, 0.0), config.backoff_ms * 1000);
  }
  config.backoff_ms = 0;
  EXPECT_EQ(backoff_us(config, 5, 0.3), 0);
}

TEST(OutcomeTest, C15_NoRetryFailsAfterOneCall) {
  Outcome outcome = Outcome::failed("hopeless");
  outcome.no_retry = true;
  PartitionConfig config;
  config.max_retries = -1;
  const Finished finished = settled(item_at(1), outcome, config);
  EXPECT_EQ(finished.status, Status::Failed);
  EXPECT_EQ(last_message(finished), "hopeless");
}

TEST(OutcomeTest, C16_ALongerWaitThatTheHandlerAskedForCounts) {
  Outcome outcome = Outcome::failed("busy");
  outcome.delay_us = 3'600'000'000;
  EXPECT_EQ(settled(item_at(1), outcome).delay_us, 3'600'000'000);
  outcome.delay_us = 1;
  EXPECT_EQ(settled(item_at(1), outcome).delay_us, 4'000'000) << "the third retry's own";
}

TEST(OutcomeTest, ARefusedItemGoesBackAsItWas) {
  Outcome outcome;
  outcome.kind = Outcome::Kind::Refused;
  outcome.delay_us = 250'000;
  const Finished finished = settled(item_at(1), outcome);
  EXPECT_EQ(finished.status, Status::Delayed);
  EXPECT_EQ(finished.delay_us, 250'000);
  EXPECT_FALSE(finished.counted);
  EXPECT_EQ(finished.retry_count, 2);
  EXPECT_EQ(finished.steps, 3);
  EXPECT_EQ(finished.gate, 1);
  EXPECT_FALSE(finished.errors || finished.data);
}

TEST(OutcomeTest, AnEffectGoesWithTheOutcomeItBelongsTo) {
  Outcome outcome = moved_to(2);
  outcome.effect = [](store::Tx&) { return Result<>{}; };
  EXPECT_TRUE(settled(item_at(1), outcome).effect);
  EXPECT_FALSE(settled(item_at(3), outcome).effect)
      << "the move was wrong, so nothing of it counts";
  outcome.kind = Outcome::Kind::Failed;
  EXPECT_TRUE(settled(item_at(1), outcome).effect);
}

TEST(OutcomeTest, C21_ARepeatedErrorIsCountedAndTheHistoryIsCapped) {
  std::string errors;
  for (int i = 0; i < 1000; ++i) errors = add_error(errors, "same", kNowUs + i * 1'000'000LL);
  json::array list = json::parse(errors).get_array();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].at("times").get_int64(), 1000);
  EXPECT_EQ(list[0].at("at").get_string(), "2027-01-15T08:16:39Z");

  for (int i = 0; i < 1000; ++i) errors = add_error(errors, std::string(5000, 'x'), kNowUs);
  for (int i = 0; i < 1000; ++i) errors = add_error(errors, fmt::format("error {}", i), kNowUs);
  list = json::parse(errors).get_array();
  ASSERT_EQ(list.size(), kErrorsKeptMax);
  EXPECT_EQ(list[0].at("message").get_string(), "error 990");
  EXPECT_EQ(list[9].at("message").get_string(), "error 999");
}

TEST(OutcomeTest, C21_AMessageIsCutAtACharacterAndMadeValid) {
  const auto stored = [](std::string_view message) {
    const json::array list = json::parse(add_error("", message, kNowUs)).get_array();
    return std::string(list[0].at("message").get_string());
  };
  std::string umlauts = "x";
  for (int i = 0; i < 5000; ++i) umlauts += "ü";
  EXPECT_EQ(stored(umlauts), umlauts.substr(0, kErrorBytesMax - 1));
  EXPECT_EQ(stored(std::string("a\0b\nc\x7f", 6)), "a b c ");
  EXPECT_EQ(stored("bad \xff byte"), "bad \xEF\xBF\xBD byte");
  const std::string rubbish = stored(std::string(100'000, '\xff'));
  EXPECT_LE(rubbish.size(), kErrorBytesMax);
  EXPECT_TRUE(is_valid_utf8(rubbish));
  const std::string long_one = std::string(5000, 'x');
  EXPECT_EQ(json::parse(add_error(add_error("", long_one, 0), long_one, 0)).get_array().size(), 1u)
      << "the same although it was cut";
}

TEST(OutcomeTest, AListThatIsNoneBeginsAnew) {
  for (const char* stored : {"", "null", "{", "{}", "7"}) {
    EXPECT_EQ(json::parse(add_error(stored, "new", kNowUs)).get_array().size(), 1u) << stored;
  }
  EXPECT_EQ(json::parse(add_error("[1]", "new", kNowUs)).get_array().size(), 2u);
}

TEST(ProcessorTest, TheKeyIsThatOfTheStepAndFitsIntoAHeader) {
  Work work;
  work.partition_name = "a/b c";
  work.item.name = "ü\r\n1";
  work.item.id = {7};
  work.item.steps = 4;
  work.item.calls = 9;
  EXPECT_EQ(work.idempotency_key(), "a%2Fb%20c/%C3%BC%0D%0A1/7.4");
}

TEST(ProcessorTest, C22_AFunctionThatThrowsHasFailedTheAttempt) {
  const auto outcome_of = [](std::function<Outcome(const Work&)> function) {
    std::vector<Outcome> outcomes;
    make_processor(std::move(function))->process({}, [&](Outcome outcome) {
      outcomes.push_back(std::move(outcome));
    });
    EXPECT_EQ(outcomes.size(), 1u);
    return outcomes.at(0);
  };
  const Outcome thrown =
      outcome_of([](const Work&) -> Outcome { throw std::runtime_error("ouch"); });
  EXPECT_EQ(thrown.kind, Outcome::Kind::Failed);
  EXPECT_FALSE(thrown.no_retry);
  EXPECT_EQ(thrown.error, "the processor threw: ouch");
  EXPECT_EQ(outcome_of([](const Work&) -> Outcome { throw 7; }).kind, Outcome::Kind::Failed);
  EXPECT_TRUE(outcome_of([](const Work&) { return Outcome::complete(); }).done);
}

TEST(OutcomeDeathTest, ACanceledOutcomeIsNeverSettled) {
  Outcome outcome;
  outcome.kind = Outcome::Kind::Canceled;
  EXPECT_DEATH((void)settled(item_at(0), outcome), "Canceled");
}

}  // namespace
}  // namespace quern::queue
