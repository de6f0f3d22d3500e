// How results are told to a person: lines of text made of what the server's JSON says. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace quern::app {

// What makes a name stand out: escapes on a terminal, asterisks elsewhere.
struct Emphasis {
  std::string_view begin = "**";
  std::string_view end = "**";

  static Emphasis for_terminal() { return {"\033[1m", "\033[0m"}; }
};

// A text of the object; "" where it is missing, null or no text.
std::string text_in(const boost::json::object& object, std::string_view name);
std::int64_t number_in(const boost::json::object& object, std::string_view name);

// "Archive.zip/run.bin  error: unhandled".
std::string file_text(const boost::json::object& file);
// "letter.pdf  page 2 of 3".
std::string document_text(const boost::json::object& document);
// "encrypted       a.zip/secret.doc  a password is needed".
std::string error_text(const boost::json::object& error);
// A line of a tree, below `parent` (the parent's file name; "" for a root).
std::string tree_text(const boost::json::object& file, std::string_view parent, int level,
                      const Emphasis& emphasis);
// A line of a list of jobs, and the line above them.
std::string job_header();
std::string job_text(const boost::json::object& job);
// Several lines.
std::vector<std::string> ledger_text(const boost::json::object& ledger);
std::vector<std::string> explanation_text(const boost::json::object& file);

// "1 document", "2 documents".
std::string count_text(std::int64_t count, std::string_view one, std::string_view many);
// "12 bytes", "3.4 MB".
std::string size_text(std::int64_t bytes);

// Control characters of names and messages must not reach a terminal.
std::string printable(std::string_view text);

// A line for programs without what differs between two runs.
boost::json::object without_ids(boost::json::object line);

}  // namespace quern::app
