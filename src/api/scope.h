// Scope: a token for one collection is told nothing of the others and changes nothing in them.
//
// Guarantee: a request by such a token reaches its handler only where everything it names was shown
// to belong to the token's collection. What names nothing of a collection is refused, and so is
// what does not exist: the answer does not tell which. How: each route is about something (About),
// by default what the first name in its pattern says; what is not known to be about a collection is
// refused, so that a new route cannot forget it.
//
// On the loop.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/access.h"
#include "net/target.h"

namespace quern::api {

// What a route is about, and so which collection.
enum class About {
  ByPattern,   // {collection}, {job}, {file} or {upload}, where that is the pattern's first name
  Collection,  // its first value is the collection's name
  Job,         // … a job's number
  File,        // … a file's number
  Upload,      // … an upload's name
  Query,       // the parameter collection says it, and must be there
  Handler,     // the handler finds out, and calls expect_within()
  Nothing,     // no collection, or all of them
};
// "job" is Job; Nothing for other names.
About about_of(std::string_view placeholder);

// Denied where the caller's token is for another collection.
Result<> expect_within(const Caller& caller, std::string_view collection);

class Scope {
 public:
  // The collection of a job, a file or an upload. Missing where there is none.
  using Owner = std::function<net::Task<Result<std::string>>(About what, std::string name)>;

  explicit Scope(Owner owner) : owner_(std::move(owner)) {}

  struct Asked {
    About about;
    const std::vector<std::string>& values;
    const net::Target& target;
  };
  // Parameters named collection and job are looked at whatever the route is about.
  net::Task<Result<>> expect(const Caller& caller, Asked asked) const;

 private:
  net::Task<Result<>> expect_owner(const Caller& caller, About what, std::string name) const;

  Owner owner_;
};

}  // namespace quern::api
