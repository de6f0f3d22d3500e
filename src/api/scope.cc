#include "api/scope.h"

#include <fmt/format.h>

namespace quern::api {
namespace {

Error outside(const Caller& caller) {
  return Error{Errc::Denied, fmt::format("this token is for the collection '{}' only, and this "
                                         "cannot be shown to belong to it",
                                         caller.collection.value_or(""))};
}

bool is_about_a_collection(const net::Target& target, About about) {
  switch (about) {
    case About::Collection:
    case About::Job:
    case About::File:
    case About::Upload:
    case About::Handler:
      return true;
    case About::Query:
      return target.find("collection") != nullptr;
    case About::ByPattern:
    case About::Nothing:
      return false;
  }
  return false;
}

}  // namespace

About about_of(std::string_view placeholder) {
  if (placeholder == "collection") return About::Collection;
  if (placeholder == "job") return About::Job;
  if (placeholder == "file") return About::File;
  if (placeholder == "upload") return About::Upload;
  return About::Nothing;
}

Result<> expect_within(const Caller& caller, std::string_view collection) {
  if (!caller.collection || *caller.collection == collection) return {};
  return outside(caller);
}

net::Task<Result<>> Scope::expect_owner(const Caller& caller, About what, std::string name) const {
  const Result<std::string> owner = co_await owner_(what, std::move(name));
  if (owner.ok()) co_return expect_within(caller, *owner);
  const Errc kind = owner.error().kind();
  // Whoever may not know of it does not learn that it is not there.
  if (kind == Errc::Missing || kind == Errc::Invalid) co_return outside(caller);
  co_return owner.error();
}

net::Task<Result<>> Scope::expect(const Caller& caller, Asked asked) const {
  if (!caller.collection) co_return Result<>();
  if (!is_about_a_collection(asked.target, asked.about)) co_return outside(caller);
  for (const auto& [name, value] : asked.target.parameters) {
    if (name == "collection") CO_TRY(expect_within(caller, value));
    if (name == "job") CO_TRY(co_await expect_owner(caller, About::Job, value));
  }
  switch (asked.about) {
    case About::Collection:
      co_return expect_within(caller, asked.values.at(0));
    case About::Job:
    case About::File:
    case About::Upload:
      co_return co_await expect_owner(caller, asked.about, asked.values.at(0));
    default:
      co_return Result<>();
  }
}

}  // namespace quern::api
