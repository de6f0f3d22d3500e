// A listener to GET /api/v1/events. It blocks, and fails the test instead of hanging.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>

#include "net/raw_peer.h"

namespace quern::e2e {

class EventStream {
 public:
  EventStream(const net::Endpoint& server, const std::string& query) : peer_(server) {
    peer_.send("GET /api/v1/events" + query + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const std::string head = peer_.read_until("\r\n\r\n");
    EXPECT_NE(head.find("text/event-stream"), std::string::npos) << head;
    peer_.read_until(": quern");
  }
  // The data of the next event of that type.
  boost::json::object next(const std::string& type) {
    peer_.read_until("event: " + type + "\n");
    peer_.read_until("data: ");
    std::string data = peer_.read_until("\n\n");
    return boost::json::parse(data).as_object();
  }

  // Everything up to a text.
  std::string read_to(const std::string& text) { return peer_.read_until(text); }

 private:
  net::RawPeer peer_;
};

}  // namespace quern::e2e
