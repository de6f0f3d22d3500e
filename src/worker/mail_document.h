// The document that a message is to its reader: the lines of its head, then its body. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "worker/mail_message.h"

namespace quern::worker {

struct MailDocument {
  std::string content_type;  // "text/html" or "text/plain", both UTF-8
  std::string bytes;
};

// `pictures` are data: addresses by Content-ID, put where the body says cid:.
using Pictures = std::map<std::string, std::string>;
MailDocument mail_document(const MailMessage& message,
                           const std::vector<std::string>& attachment_names,
                           const Pictures& pictures);

std::string html_escaped(std::string_view text);
// Plain text as a piece of HTML that keeps its lines.
std::string html_of_text(std::string_view text);
// Lines that were only broken for the way (RFC 3676, format=flowed) are whole again.
enum class DeleteSpace { No, Yes };
std::string unflowed(std::string_view text, DeleteSpace delete_space);
// The Content-IDs that a body refers to.
std::set<std::string> shown_content_ids(std::string_view html);
// The words of a text, as far as they can be compared.
using Words = std::set<std::string>;
Words words_of(std::string_view text);
// Whether a word of it, or at least half of them, are not among those known.
enum class News { Any, Half };
bool says_other_things(std::string_view text, const Words& known, News news);
// Whether there is anything to see in it.
bool is_blank_html(std::string_view html);

}  // namespace quern::worker
