// For end-to-end tests over HTTP, on either store: a server of its own, and requests to it.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>
#include <functional>
#include <thread>

#include "e2e/quern.h"
#include "net/client.h"
#include "net/loop.h"
#include "net/target.h"
#include "support/postgres.h"

namespace quern::e2e {

enum class Store { Sqlite, Postgres };

inline std::string name_of(const testing::TestParamInfo<Store>& info) {
  return info.param == Store::Sqlite ? "Sqlite" : "Postgres";
}

// A fresh database of the shared server, with all tables: a copy of one that the program made.
inline std::string fresh_postgres() {
  static const std::string migrated = [] {
    std::string url = support::Postgres::shared().create_database();
    const support::Ran ran = DataFolder(url).run({"jobs"});
    CHECK(ran.status.exited_with(0));
    // Each copy gets a name of its own.
    support::Postgres::shared().run_sql(url, "DELETE FROM store_identity");
    return url;
  }();
  return support::Postgres::shared().copy_database(migrated);
}

class ServedTest : public testing::TestWithParam<Store> {
 protected:
  ServedTest() : folder_(GetParam() == Store::Sqlite ? "" : fresh_postgres()) {}
  void SetUp() override { server_ = folder_.serve(&address_); }

  net::Response send(net::Method method, std::string target, std::string body = "",
                     net::Headers headers = {}) {
    net::Request request;
    request.method = method;
    request.target = std::move(target);
    request.body = std::move(body);
    request.headers = std::move(headers);
    const auto endpoint = net::Endpoint::parse(address_.substr(std::string("http://").size()));
    net::Client client(loop_, *endpoint, {});
    Result<net::Response> answer = loop_.run_until(client.fetch(std::move(request), 16 << 20));
    CHECK_OK(answer);
    return *std::move(answer);
  }
  net::Response get(std::string target) { return send(net::Method::Get, std::move(target)); }
  net::Response put(std::string target, std::string body, net::Headers headers = {}) {
    return send(net::Method::Put, std::move(target), std::move(body), std::move(headers));
  }
  net::Response post(std::string target, std::string body = "", net::Headers headers = {}) {
    return send(net::Method::Post, std::move(target), std::move(body), std::move(headers));
  }
  net::Response remove(std::string target, net::Headers headers = {}) {
    return send(net::Method::Delete, std::move(target), "", std::move(headers));
  }
  boost::json::object get_json(std::string target) {
    const net::Response answer = get(std::move(target));
    boost::system::error_code failed;
    boost::json::value value = boost::json::parse(answer.body, failed);
    EXPECT_EQ(answer.status, 200) << answer.body;
    if (failed || !value.is_object()) return {};
    return std::move(value.get_object());
  }
  // What an object says of a field, as a text; "" where it says nothing.
  static std::string field(const boost::json::object& object, std::string_view name) {
    const boost::json::value* value = object.if_contains(name);
    if (value == nullptr) return "";
    return value->is_string() ? std::string(value->get_string()) : boost::json::serialize(*value);
  }
  // Whether a field of what is there comes to be this, while the server works on it.
  bool becomes(const std::string& target, std::string_view name, std::string_view value) {
    const auto give_up = std::chrono::steady_clock::now() + support::kProgramPatience;
    while (field(get_json(target), name) != value) {
      if (std::chrono::steady_clock::now() > give_up) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }
  static std::string etag(const net::Response& answer) {
    const std::string* tag = answer.headers.find("ETag");
    return tag == nullptr ? "" : *tag;
  }

  DataFolder folder_;
  std::unique_ptr<support::Program> server_;
  std::string address_;
  net::Loop loop_;
};

}  // namespace quern::e2e
