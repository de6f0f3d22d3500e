// The parts of a MIME message put where a reader looks for them: into the body or beside it.
#pragma once

#include <string>
#include <vector>

#include "worker/gmime_part.h"
#include "worker/mail_message.h"

namespace quern::worker {

struct BodyPiece {
  enum class Kind { Text, Html } kind;
  std::string text;  // UTF-8
};

struct WalkedParts {
  std::vector<BodyPiece> body;
  std::vector<MailAttachment> attachments;

  bool has_visible(BodyPiece::Kind kind) const;
};

// Everything from this part down. `count` is of all parts so far, which are bounded.
struct WalkState {
  std::size_t count = 0;
  bool too_many = false;
};
WalkedParts walk_parts(GMimeObject* root, WalkState& state, int depth = 0);

// All pieces as one body: HTML where one of them is.
void join_body(const std::vector<BodyPiece>& pieces, MailMessage& message);

}  // namespace quern::worker
