// Sniffing: rules of our own about what a file is, where libmagic is wrong or vague.
//
// Content decides. A name only helps where the content says little (a text, a container of its
// kind) or nothing that could contradict. Each rule looks at a bounded number of bytes. Runs in the
// box: the bytes are hostile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/step.h"

namespace quern::worker {

inline constexpr std::size_t kHeadBytes = 64 * 1024;

// The bytes of a file, as far as somebody asks.
class Sample {
 public:
  explicit Sample(const StepInput& input);

  std::string_view head() const { return head_; }
  std::uint64_t size() const { return input_.bytes; }
  std::string_view filename() const { return input_.filename; }
  // Fewer where the file ends before.
  std::string read(std::uint64_t offset, std::size_t bytes) const;
  bool begins_with(std::string_view magic, std::size_t offset = 0) const;

 private:
  const StepInput& input_;
  std::string head_;
};

// The type, given what libmagic says: lower case, without parameters, aliases as
// model::canonical_type has them.
std::string sniffed_type(const Sample& sample, std::string_view magic_type);

// -- the parts of it --

// By containers: "PK" files by their central directory, OLE files by the names of their streams.
// Nothing where it is no such file.
std::optional<std::string> sniff_zip(const Sample& sample);
std::optional<std::string> sniff_ole(const Sample& sample);
// Whether it is an office document that a password locks, as newer offices write them.
bool is_encrypted_package(const Sample& sample);
// By the first bytes, for what libmagic does not know or confuses.
std::optional<std::string> sniff_bytes(const Sample& sample);
// By the words, where it is text at all.
bool looks_like_text(std::string_view head);
std::optional<std::string> sniff_text(std::string_view text, std::string_view suffix);
// Whether it begins with the header of a mail: only header lines, and known ones among them.
bool begins_with_mail(std::string_view text);

// "docx" of "a/b.DOCX"; "" where there is none.
std::string suffix_of(std::string_view filename);
// The type that a suffix stands for, or "".
std::string_view type_of_suffix(std::string_view suffix);
// Whether the type is one of text by the bytes alone, so that the suffix may name it.
bool is_text_type(std::string_view type);

}  // namespace quern::worker
