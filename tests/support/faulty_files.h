// FaultyFiles: a file server on 127.0.0.1 that fails on command.
//
// It serves bytes that are made up from a seed, so ten gigabytes need no disk, with ranges,
// If-Range, ETag and HEAD as RFC 9110 has them. Each file may have faults, by the number of the
// request that asks for it; every request is recorded, so a test can say which bytes were asked for
// twice. "/made/SIZE/SEED" is there without being put; "/signed/NAME" may be put to give
// faults to the addresses that Signed makes. A thread a connection; all functions from
// any thread.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "io/descriptor.h"

namespace quern::support {

// Fills `into` with the made-up bytes of a seed from that offset on.
void make_bytes(std::uint64_t seed, std::int64_t offset, char* into, std::size_t size);
std::string made_bytes(std::uint64_t seed, std::int64_t offset, std::size_t size);

struct FaultyFile {
  std::int64_t size = 0;
  std::uint64_t seed = 1;
  std::optional<std::string> bytes;  // instead of made-up ones; then the size is theirs
  std::string etag = "\"one\"";      // empty: none
  std::string last_modified;
  std::string content_type = "application/octet-stream";
  std::string content_encoding;
  std::vector<std::pair<std::string, std::string>> headers;  // more of them, of every answer
  bool ranges = true;
};

struct Fault {
  enum class Kind {
    Status,       // `status`, with `headers`, and a page that says so
    Reset,        // the connection, `after` bytes of the body
    Cut,          // the connection ends in order, `after` bytes of the body
    WrongStart,   // Content-Range begins one byte late
    WrongTotal,   // Content-Range tells another size
    WholeAnyway,  // the range is passed over: 200
    Changed,      // from this request on the file is `changed`
    Hang,         // nothing more comes `after` bytes of the body, until the server ends
    Drip,         // one byte every `drip_ms` from there on
    ErrorPage,    // 200 or 206 with an XML error in place of the file
    Garbage,      // XML in place of the bytes, `after` bytes of the body; the length is right
    Corrupt,      // one byte is another, `after` bytes of the body
    TooLong,      // no length, and more bytes than the file has
    NoLength,     // no length; the connection ends with the file
    Signed,       // 302 to an address ("/signed/…") that is good for `uses` requests
  };
  Kind kind = Kind::Status;
  int nth = 1;    // of the requests for this path, from 1
  int times = 1;  // so many in a row
  std::int64_t after = 0;
  int status = 503;
  std::vector<std::pair<std::string, std::string>> headers = {};
  int drip_ms = 1;
  int uses = 1;
  FaultyFile changed = {};
};

struct FaultyRequest {
  std::string method;
  std::string path;  // with its query
  std::string head;  // as it came
  int status = 0;    // of the answer
  std::int64_t offset = 0;
  std::int64_t sent = 0;  // bytes of the body that were handed to the socket

  // The value of a header, by its name as this test sent it in any case.
  std::string header(std::string_view name) const;
};

inline constexpr std::string_view kErrorXml =
    "<?xml version=\"1.0\"?><Error><Code>InternalError</Code></Error>";
inline constexpr std::size_t kFaultyRequestsMax = 100'000;  // that are remembered

class FaultyFiles {
 public:
  FaultyFiles();
  ~FaultyFiles();
  FaultyFiles(const FaultyFiles&) = delete;
  FaultyFiles& operator=(const FaultyFiles&) = delete;

  void put(const std::string& path, FaultyFile file);
  // Beside those that the path has; of two for one request the first counts.
  void add_fault(const std::string& path, Fault fault);
  void clear_faults();

  int port() const { return port_; }
  std::string place() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url(std::string_view path) const { return "http://" + place() + std::string(path); }
  // All bytes of a file as it is now.
  std::string contents(const std::string& path) const;
  // In the order in which they came. Those of one path where one is named, with its query.
  std::vector<FaultyRequest> requests(std::string_view path = {}) const;
  void forget_requests();

 private:
  struct Plan;
  struct Served {
    FaultyFile file;
    std::vector<Fault> faults;
    int requests = 0;
  };

  void accept_all();
  void serve(int socket);
  Plan plan(const std::string& head);
  void plan_body(Plan& plan, const std::string& head) const;
  void apply(const Fault& fault, Plan& plan);
  static std::optional<Fault> next_fault(Served& served);
  bool send_body(int socket, const Plan& plan, std::int64_t& sent);
  int begin_record(const Plan& plan, const std::string& head);
  void end_record(int number, std::int64_t sent);

  io::Descriptor listener_;
  io::Descriptor stop_read_;  // readable once the server ends
  io::Descriptor stop_write_;
  int port_ = 0;
  mutable std::mutex mutex_;  // guards what follows
  std::map<std::string, Served> files_;
  std::map<std::string, std::pair<std::string, int>> signed_;  // token: path, uses left
  int tokens_ = 0;
  std::map<int, FaultyRequest> requests_;  // by number
  int numbers_ = 0;
  std::list<io::Descriptor> sockets_;
  std::list<std::thread> threads_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace quern::support
