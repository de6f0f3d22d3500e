#include "model/file_state.h"

#include <gtest/gtest.h>

#include "model/error_kind.h"

namespace quern::model {
namespace {

TEST(FileStateTest, AFileGoesForwardOnly) {
  // Rows: from; columns: to; in the order created, written, processed, ingested.
  constexpr bool kMoves[4][4] = {{false, true, true, false},
                                 {false, false, true, false},
                                 {false, false, false, true},
                                 {false, false, false, false}};
  for (const FileState from : kFileStates) {
    for (const FileState to : kFileStates) {
      EXPECT_EQ(may_move(from, to), kMoves[static_cast<int>(from)][static_cast<int>(to)])
          << to_string(from) << " to " << to_string(to);
    }
  }
}

TEST(FileStateTest, NamesAreReadBack) {
  for (const FileState state : kFileStates) EXPECT_EQ(parse_file_state(to_string(state)), state);
  for (const FileClass one : kFileClasses) EXPECT_EQ(parse_file_class(to_string(one)), one);
  EXPECT_EQ(parse_file_state("Created"), std::nullopt);
  EXPECT_EQ(parse_file_class(""), std::nullopt);
  EXPECT_EQ(to_string(FileClass::InProgress), "in_progress");
}

TEST(ErrorKindTest, NamesAreThoseOfTheProtocol) {
  constexpr std::string_view kNames[] = {"unhandled",   "canceled",  "encrypted",     "corrupt",
                                         "unsupported", "too_large", "too_deep",      "too_many",
                                         "ratio",       "timeout",   "out_of_memory", "crash",
                                         "protocol",    "fetch",     "internal"};
  ASSERT_EQ(std::size(kNames), kErrorKinds.size());
  for (std::size_t i = 0; i < kErrorKinds.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(kErrorKinds[i]), i);
    EXPECT_EQ(to_string(kErrorKinds[i]), kNames[i]);
    EXPECT_EQ(parse_error_kind(kNames[i]), kErrorKinds[i]);
  }
  EXPECT_EQ(parse_error_kind("Corrupt"), std::nullopt);
  EXPECT_EQ(parse_error_kind(""), std::nullopt);
}

TEST(ErrorKindTest, AWorkerCannotSayWhatOnlyTheServerKnows) {
  for (const ErrorKind kind : kErrorKinds) {
    const bool is_ours = kind == ErrorKind::Unhandled || kind == ErrorKind::Canceled;
    EXPECT_EQ(worker_error_kind(to_string(kind)), is_ours ? ErrorKind::Internal : kind);
  }
  EXPECT_EQ(worker_error_kind("gremlins"), ErrorKind::Internal);
}

}  // namespace
}  // namespace quern::model
