// The parser of the URL standard: its states, a function each. Used by Url only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "web/url.h"

namespace quern::web {

bool is_special_scheme(std::string_view scheme);
// 0 where it has none.
std::uint16_t default_port(std::string_view scheme);

class UrlParser {
 public:
  UrlParser(std::string_view text, const Url* base);
  Result<Url> run();

 private:
  enum class State {
    SchemeStart,
    Scheme,
    NoScheme,
    SpecialRelativeOrAuthority,
    PathOrAuthority,
    Relative,
    RelativeSlash,
    SpecialAuthoritySlashes,
    SpecialAuthorityIgnoreSlashes,
    Authority,
    Host,
    Port,
    File,
    FileSlash,
    FileHost,
    PathStart,
    Path,
    OpaquePath,
    Query,
    Fragment,
  };

  // Each looks at the character at at_ (kEnd behind the last) and may move at_ back: the next one
  // comes after it. False: this is no address.
  bool step(int c);
  bool in_scheme_start(int c);
  bool in_scheme(int c);
  bool end_scheme();
  bool in_no_scheme(int c);
  bool in_special_relative_or_authority(int c);
  bool in_path_or_authority(int c);
  bool in_relative(int c);
  bool in_relative_slash(int c);
  bool in_special_authority_slashes(int c);
  bool in_special_authority_ignore_slashes(int c);
  bool in_authority(int c);
  void take_credentials();
  bool in_host(int c);
  bool in_port(int c);
  bool in_file(int c);
  bool in_file_slash(int c);
  bool in_file_host(int c);
  bool in_path_start(int c);
  bool in_path(int c);
  void end_segment(int c);
  bool in_opaque_path(int c);
  bool in_query(int c);
  bool in_fragment(int c);

  bool go(State state) {
    state_ = state;
    return true;
  }
  bool go_back(State state) {
    --at_;
    return go(state);
  }
  // "?" and "#" begin what comes next.
  bool begin_query();
  bool begin_fragment();
  bool take_host();
  bool ends_authority(int c) const;
  bool is_slash(int c) const { return c == '/' || (special_ && c == '\\'); }
  std::string_view rest() const;  // from at_
  void set_scheme(std::string scheme);
  void copy_authority();
  void copy_path();
  void shorten_path();
  void serialize();

  std::string text_;
  const Url* base_;
  std::ptrdiff_t at_ = 0;
  State state_ = State::SchemeStart;
  std::string buffer_;
  std::vector<std::string> segments_;
  bool special_ = false;
  bool at_sign_seen_ = false;
  bool password_seen_ = false;
  bool in_brackets_ = false;
  Url url_;
};

}  // namespace quern::web
