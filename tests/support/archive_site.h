// ArchiveSite: what the Internet Archive offers, on 127.0.0.1, in the test's own process: the CDX
// API, replay, Save Page Now, items through the interface that is like S3, and their metadata.
//
// Written from recorded answers and from documents, not from our clients:
//   CDX          https://github.com/internetarchive/wayback/tree/master/wayback-cdx-server
//   Save Page Now  "Save Page Now 2 Public API Docs" by the Wayback Machine's makers
//   S3-like      https://archive.org/developers/ias3.html
//   metadata     https://archive.org/developers/md-read.html
// Of each, what a client that preserves datasets meets; faults by name, for so many requests.
//
// Threads: all functions from any; requests are served one after the other on its own thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "net/loop.h"
#include "net/server.h"

namespace quern::support {

struct SiteCapture {
  std::string url;
  std::string datetime;  // 14 digits
  int status = 200;
  std::string mimetype = "text/html";
  std::string body;
  std::string location;                                // of a redirect
  std::string warc = "liveweb-20200101-site.warc.gz";  // with "/" where it can be read
  std::string digest;                                  // empty: that of the body
};

struct SiteFile {
  std::string bytes;
  std::string md5;
  std::string sha1;
};
struct SiteItem {
  std::map<std::string, std::vector<std::string>> metadata;
  std::vector<std::string> order;  // names of files
  std::map<std::string, SiteFile> files;
};

struct SiteCall {
  std::string method;
  std::string target;
  net::Headers headers;
  std::string body;
};

class ArchiveSite {
 public:
  inline static const std::string kAccessKey = "sitekey";
  inline static const std::string kSecretKey = "sitesecret";
  inline static const std::string kCdxToken = "sitetoken";

  enum class Fault {
    CdxDown,      // 503
    CdxBroken,    // half an answer
    ReplayPlain,  // an answer without X-Archive-Src
    SpnBusy,      // no session is free
    SpnLimited,   // 429
    SpnForever,   // a job stays pending
    IndexLate,    // a new capture is not in the index yet
    SlowDown,     // 503 to a PUT
    OverLimit,    // check_limit says so
    Spoiled,      // a PUT's bytes come wrong: BadDigest
    ItemLate,     // metadata do not show an item yet
  };

  ArchiveSite();
  ~ArchiveSite();
  ArchiveSite(const ArchiveSite&) = delete;
  ArchiveSite& operator=(const ArchiveSite&) = delete;

  std::string origin() const { return origin_; }  // "http://127.0.0.1:PORT"
  std::string cdx() const { return origin_ + "/cdx/search/cdx"; }
  std::string replay() const { return origin_ + "/web/"; }
  std::string save() const { return origin_ + "/save"; }
  std::string s3() const { return origin_ + "/s3"; }

  void add(SiteCapture capture);
  // What Save Page Now finds at an address, or says of it ("error:not-found").
  void set_live(const std::string& url, SiteCapture capture);
  void set_live_error(const std::string& url, std::string status_ext);
  // The next so many requests that it concerns.
  void fail(Fault fault, int times);

  std::map<std::string, SiteItem> items() const;
  std::vector<SiteCall> calls() const;
  // Whose target begins so.
  std::size_t calls_to(std::string_view beginning) const;

 private:
  struct Job {
    std::string url;
    int pending = 1;
  };

  static net::Task<Result<>> handle(ArchiveSite* self, net::Exchange& exchange);
  net::Response answer(const SiteCall& call);
  net::Response answer_cdx(const SiteCall& call);
  net::Response answer_replay(const SiteCall& call);
  net::Response answer_save(const SiteCall& call);
  net::Response answer_job(const std::string& job);
  net::Response answer_s3(const SiteCall& call);
  net::Response put_file(const SiteCall& call, std::string_view target);
  net::Response answer_metadata(const std::string& item);
  net::Response answer_download(std::string_view target) const;
  bool fails(Fault fault);
  bool is_authorized(const SiteCall& call) const;

  std::string origin_;
  mutable std::mutex mutex_;
  std::vector<SiteCapture> captures_;
  std::map<std::string, SiteCapture> live_;
  std::map<std::string, std::string> live_errors_;
  std::map<std::string, Job> jobs_;
  std::map<std::string, SiteItem> items_;
  std::map<Fault, int> faults_;
  std::vector<SiteCall> calls_;
  net::Loop loop_;
  std::unique_ptr<net::Server> server_;
  std::thread thread_;
};

// In base 32, as an index has it.
std::string site_digest(std::string_view bytes);

}  // namespace quern::support
