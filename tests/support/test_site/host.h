// Host: one virtual host of the test site. What it answers follows from the request, its settings
// and how often that target was asked for; nothing lies on a disk.
//
// Beside its pages, each host knows what a correct crawl makes of it: expected(). A crawl starts at
// "/" with scope "host", default limits, and obeys robots.txt.
//
// Settings that every host has:
//   version          of the contents: text, ETag and Last-Modified change with it
//   delay_ms         before each answer
//   storm            so many tries of each target fail first, with storm_status (500)
//   retry_after      what failures of a storm say
//   robots_status    of /robots.txt instead of 200; robots_location where that is a redirect
//   robots_text      all of it (expected() knows nothing of that)
//   crawl_delay      in robots.txt, in seconds
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.h"

namespace quern::test_site {

struct Ask {
  net::Method method = net::Method::Get;
  std::string authority;  // as the Host header has it: "plain.test:8080"
  std::string target;     // as sent: "/a?b"
  net::Headers headers;

  std::string_view path() const;
  // Of a query, not decoded; empty where there is none.
  std::string parameter(std::string_view name) const;
  // "http://plain.test:8080" and then the rest.
  std::string absolute(std::string_view rest) const;
};

enum class Manner {
  Whole,    // with its length
  Chunked,  // in pieces of 1,000 bytes
  Cut,      // the connection ends behind the body, though more was promised
  Silent,   // the connection ends without an answer
  Hung,     // nothing comes while the client waits
};

struct Answer {
  int status = 200;
  net::Headers headers;
  std::string body;
  // For bodies that are too large to hold: body, then `piece` so many times, then `tail`.
  std::string piece;
  std::uint64_t pieces = 0;
  std::string tail;
  Manner manner = Manner::Whole;
  std::int64_t delay_ms = 0;
  bool validators = true;  // ETag and Last-Modified, and 304 by them

  std::uint64_t size() const { return body.size() + pieces * piece.size() + tail.size(); }
};

// What becomes of a target in a correct crawl.
enum class Fate {
  Document,  // fetched, and found afterwards
  Fetched,   // asked for, but no document
  Maybe,     // open to taste: either is right
  Never,     // must not be asked for
};

// Targets, as sent. `maybe` may be asked for or not, as may what begins with one of the prefixes,
// but not more often than it says in all.
struct Expected {
  std::set<std::string> fetched;
  std::set<std::string> documents;
  std::set<std::string> maybe;
  std::set<std::string> never;
  std::map<std::string, int> prefixes_at_most;
  std::map<std::string, std::string> texts;  // words that a document has, by target

  void add(const std::string& target, Fate fate);
};

// What a page is made of. Hrefs are as written, and escaped for HTML here.
struct Html {
  std::string title;
  std::string text;
  std::vector<std::string> links;
  std::string head;  // more of it, as HTML
  std::string more;  // of the body, as HTML
};
std::string escaped(std::string_view text);
std::string render(const Html& page);
// So many words that always follow of the number.
std::string filler(std::uint64_t number, int words);
Answer html_answer(const Html& page);
Answer typed_answer(std::string content_type, std::string body);
Answer status_answer(int status);
Answer redirect_answer(int status, std::string_view location);

class Host {
 public:
  using Settings = std::map<std::string, std::string>;

  explicit Host(std::string name) : name_(std::move(name)) {}
  virtual ~Host() = default;

  Answer answer(const Ask& ask);
  Expected expected(const std::string& authority) const;
  void set(const std::string& key, const std::string& value);
  // How often each target was asked for is forgotten, and all settings.
  void reset();
  const std::string& name() const { return name_; }

 protected:
  virtual Answer make(const Ask& ask) = 0;
  virtual void expect(const std::string& authority, Expected& all) const = 0;
  virtual std::string robots_text(const Ask& ask);
  virtual void settings_changed() {}

  std::int64_t number(const std::string& key, std::int64_t otherwise) const;
  std::string text(const std::string& key, const std::string& otherwise) const;
  // Before this one.
  int tries(const std::string& target) const;

 private:
  Answer robots(const Ask& ask);
  void add_validators(const Ask& ask, Answer& answer) const;

  std::string name_;
  Settings settings_;
  std::map<std::string, int> tries_;
};

// A host that is a list of targets.
class TableHost : public Host {
 public:
  using Make = std::function<Answer(const Ask&)>;
  using Host::Host;

 protected:
  void add(const std::string& target, Fate fate, Make make);
  void page(const std::string& target, Fate fate, Html html);
  // A page of its own words that links nowhere.
  void leaf(const std::string& target, Fate fate, const std::string& words);
  // Linked, but nothing is there to see: a crawl that asks is wrong.
  void never(const std::string& target);

  Answer make(const Ask& ask) override;
  void expect(const std::string& authority, Expected& all) const override;
  virtual Answer other(const Ask& ask);
  // All targets of the table but "/".
  std::vector<std::string> targets() const;
  void clear() { entries_.clear(); }

 private:
  struct Entry {
    Fate fate;
    Make make;
  };
  std::map<std::string, Entry> entries_;
};

}  // namespace quern::test_site
