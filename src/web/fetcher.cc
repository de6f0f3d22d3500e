#include "web/fetcher.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "io/clock.h"
#include "web/fetcher_transfer.h"

namespace quern::web {
namespace {

constexpr std::size_t kIdleHandlesMax = 256;
constexpr int kStallLookMs = 100;  // how often stalled and stopped transfers are looked for
constexpr int kSleepMsMax = 1000;

void init_once() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  CHECK(code == CURLE_OK);
}

struct MultiFree {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};

}  // namespace

class Fetcher::Core {
 public:
  explicit Core(FetcherOptions options) : options_(std::move(options)), multi_(curl_multi_init()) {
    CHECK(multi_ != nullptr);
    curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS,
                      static_cast<long>(options_.kept_connections));
    curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_MULTIPLEX));
    thread_ = std::thread([this] { run(); });
  }

  ~Core() {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
    }
    wake();
    thread_.join();
  }

  void fetch(FetchOrder order, Done done) {
    auto transfer = std::make_unique<Transfer>(std::move(order), std::move(done), options_);
    {
      const std::scoped_lock lock(mutex_);
      if (under_way_ >= options_.transfers_max) {
        refused_.push_back(std::move(transfer));
      } else {
        ++under_way_;
        waiting_.push_back(std::move(transfer));
      }
    }
    wake();
  }

  void cancel_all() {
    {
      const std::scoped_lock lock(mutex_);
      cancel_ = true;
      canceled_.insert(canceled_.end(), std::make_move_iterator(waiting_.begin()),
                       std::make_move_iterator(waiting_.end()));
      waiting_.clear();
    }
    wake();
  }

  void look_again() {
    {
      const std::scoped_lock lock(mutex_);
      look_ = true;
    }
    wake();
  }

  std::size_t under_way() const { return under_way_; }

 private:
  using Transfers = std::vector<std::unique_ptr<Transfer>>;

  // What others have asked for since the last look.
  struct Asked {
    Transfers waiting;
    Transfers refused;
    Transfers canceled;
    bool cancel = false;
    bool look = false;
    bool stop = false;
  };

  void wake() {
    if (std::this_thread::get_id() != thread_.get_id()) curl_multi_wakeup(multi_.get());
  }

  Asked take_asked() {
    const std::scoped_lock lock(mutex_);
    return {std::exchange(waiting_, {}),  std::exchange(refused_, {}),
            std::exchange(canceled_, {}), std::exchange(cancel_, false),
            std::exchange(look_, false),  stopping_};
  }

  bool has_asked() {
    const std::scoped_lock lock(mutex_);
    return !waiting_.empty() || !refused_.empty() || cancel_ || look_ || stopping_;
  }

  void run() {
    // A peer that is gone is an error of ours to handle, not a signal.
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);

    for (;;) {
      Asked asked = take_asked();
      if (asked.cancel || asked.stop) cancel_active();
      if (asked.look) go_on();
      for (auto& transfer : asked.canceled) end_unbegun(*transfer, "the fetch was canceled");
      for (auto& transfer : asked.refused) refuse(*transfer);
      for (auto& transfer : asked.waiting) {
        if (asked.stop) {
          end_unbegun(*transfer, "the fetcher has ended");
        } else {
          begin(std::move(transfer));
        }
      }
      if (asked.stop) {
        if (has_more()) continue;  // somebody asked while being told
        return;
      }
      turn();
    }
  }

  bool has_more() {
    const std::scoped_lock lock(mutex_);
    return !waiting_.empty() || !refused_.empty() || !canceled_.empty();
  }

  // One round of curl, then a sleep unless there is something to do.
  void turn() {
    int running = 0;
    const CURLMcode code = curl_multi_perform(multi_.get(), &running);
    CHECK(code == CURLM_OK);
    end_finished();
    end_stalled();
    if (has_asked()) return;
    const int sleep_ms = active_.empty() ? kSleepMsMax : kStallLookMs;
    curl_multi_poll(multi_.get(), nullptr, 0, sleep_ms, nullptr);
  }

  void begin(std::unique_ptr<Transfer> transfer) {
    if (transfer->refusal()) {
      Fetched fetched = transfer->finish(FetchProblem::Internal, *transfer->refusal());
      return tell(*transfer, std::move(fetched));
    }
    transfer->prepare(take_handle());
    CURL* const handle = transfer->handle();
    active_.emplace(handle, std::move(transfer));
    CHECK(curl_multi_add_handle(multi_.get(), handle) == CURLM_OK);
  }

  void end_finished() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      auto transfer = remove(message->easy_handle);
      Fetched fetched = transfer->finish(code);
      give_back(transfer->give_handle());
      tell(*transfer, std::move(fetched));
    }
  }

  void end_stalled() {
    const std::int64_t now = io::system_clock().monotonic_us();
    if (now < next_stall_look_us_) return;
    next_stall_look_us_ = now + kStallLookMs * 1000;
    std::vector<CURL*> stalled;
    std::vector<CURL*> stopped;
    for (const auto& [handle, transfer] : active_) {
      if (transfer->is_stopped()) {
        stopped.push_back(handle);
      } else if (transfer->is_stalled(now)) {
        stalled.push_back(handle);
      }
    }
    for (CURL* handle : stopped) end(handle, FetchProblem::Canceled, "the fetch was canceled");
    for (CURL* handle : stalled) {
      end(handle, FetchProblem::Timeout, "the server said nothing for longer than it may");
    }
  }

  // Those that waited for their sinks.
  void go_on() {
    std::vector<CURL*> ready;
    for (const auto& [handle, transfer] : active_) {
      if (transfer->can_go_on()) ready.push_back(handle);
    }
    for (CURL* handle : ready) {
      Transfer& transfer = *active_.at(handle);
      if (!transfer.go_on()) end(handle, transfer.problem(), transfer.problem_message());
    }
  }

  void cancel_active() {
    std::vector<CURL*> handles;
    for (const auto& [handle, transfer] : active_) handles.push_back(handle);
    for (CURL* handle : handles) end(handle, FetchProblem::Canceled, "the fetch was canceled");
  }

  void end(CURL* handle, FetchProblem problem, std::string message) {
    auto transfer = remove(handle);
    Fetched fetched = transfer->finish(problem, std::move(message));
    tell(*transfer, std::move(fetched));
  }

  void end_unbegun(Transfer& transfer, std::string message) {
    tell(transfer, transfer.finish(FetchProblem::Canceled, std::move(message)));
  }

  // Not counted among those under way.
  void refuse(Transfer& transfer) {
    Fetched fetched = transfer.finish(
        FetchProblem::Canceled,
        fmt::format("{} fetches are under way, more may not be", options_.transfers_max));
    transfer.take_done()(std::move(fetched));
  }

  void tell(Transfer& transfer, Fetched fetched) {
    --under_way_;
    transfer.take_done()(std::move(fetched));
  }

  std::unique_ptr<Transfer> remove(CURL* handle) {
    CHECK(curl_multi_remove_handle(multi_.get(), handle) == CURLM_OK);
    auto node = active_.extract(handle);
    CHECK(!node.empty());
    return std::move(node.mapped());
  }

  CurlHandle take_handle() {
    if (idle_.empty()) {
      CurlHandle handle(curl_easy_init());
      CHECK(handle != nullptr);
      return handle;
    }
    CurlHandle handle = std::move(idle_.back());
    idle_.pop_back();
    return handle;
  }

  void give_back(CurlHandle handle) {
    if (idle_.size() < kIdleHandlesMax) idle_.push_back(std::move(handle));
  }

  const FetcherOptions options_;
  std::unique_ptr<CURLM, MultiFree> multi_;
  std::vector<CurlHandle> idle_;
  std::unordered_map<CURL*, std::unique_ptr<Transfer>> active_;
  std::int64_t next_stall_look_us_ = 0;

  std::mutex mutex_;
  Transfers waiting_;
  Transfers refused_;
  Transfers canceled_;  // before they began
  bool cancel_ = false;
  bool look_ = false;
  bool stopping_ = false;
  std::atomic<std::size_t> under_way_ = 0;
  std::thread thread_;
};

Result<std::unique_ptr<Fetcher>> Fetcher::open(FetcherOptions options) {
  init_once();
  std::error_code error;
  if (!std::filesystem::is_directory(options.spool, error)) {
    return Error{Errc::Missing, "the fetcher's spool is no folder: " + options.spool.string()};
  }
  return std::unique_ptr<Fetcher>(new Fetcher(std::make_unique<Core>(std::move(options))));
}

Fetcher::Fetcher(std::unique_ptr<Core> core) : core_(std::move(core)) {}

Fetcher::~Fetcher() = default;

void Fetcher::fetch(FetchOrder order, Done done) {
  core_->fetch(std::move(order), std::move(done));
}

void Fetcher::cancel_all() {
  core_->cancel_all();
}

void Fetcher::look_again() {
  core_->look_again();
}

std::size_t Fetcher::under_way() const {
  return core_->under_way();
}

}  // namespace quern::web
