// S3Server: a throwaway S3, which is a real Ceph: one monitor, one store of objects, one gateway.
//
// It listens on 127.0.0.1, lives in a temporary folder, and goes with the object or with this
// process, whichever ends first. Failures of the set-up abort with the programs' own words: a test
// that lacks Ceph has failed. Start it from a thread that lives as long as it should.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/process.h"
#include "support/reserved_port.h"
#include "support/temp_folder.h"

namespace quern::support {

class S3Server {
 public:
  inline static const std::string kAccessKey = "quernkey";
  inline static const std::string kSecretKey = "quernsecret";

  S3Server();
  ~S3Server();
  S3Server(const S3Server&) = delete;
  S3Server& operator=(const S3Server&) = delete;

  // One for the whole test program, made by the first caller (the main thread): it takes some ten
  // seconds.
  static S3Server& shared();

  std::string endpoint() const;
  // The gateway alone goes and comes; what is stored stays.
  void stop_gateway();
  void start_gateway();

 private:
  void write_settings();
  void make_monitor();
  void make_object_store();
  void make_user();
  io::Process start(std::vector<std::string> argv, std::string_view log);
  void run(std::vector<std::string> argv);
  std::string log_text(std::string_view log) const;

  TempFolder folder_;
  ReservedPort monitor_port_;
  ReservedPort gateway_port_;
  std::optional<io::Process> monitor_;
  std::optional<io::Process> object_store_;
  std::optional<io::Process> gateway_;
};

}  // namespace quern::support
