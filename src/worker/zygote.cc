#include "worker/zygote.h"

#include <fmt/format.h>
#include <locale.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "base/log.h"
#include "base/utf8.h"
#include "worker/box_root.h"
#include "worker/channel.h"
#include "worker/confine.h"
#include "worker/kept_child.h"
#include "worker/syscall_filter.h"

namespace quern::worker {
namespace json = boost::json;
namespace {

constexpr std::size_t kTaskBytesMax = 4 * 1024 * 1024;

struct Order {
  RunOrder run;
  std::vector<io::Descriptor> descriptors;  // task, output, end, note, inputs...

  int task() const { return descriptors[0].get(); }
  int output() const { return descriptors[1].get(); }
  int end() const { return descriptors[2].get(); }
  int note() const { return descriptors[3].get(); }
};

Limits limits_of(const RunOrder& order) {
  Limits limits;
  limits.members = order.members;
  limits.ratio = order.ratio;
  limits.ratio_from_bytes = order.ratio_from_bytes;
  limits.text_characters = order.text_characters;
  limits.text_pages = order.text_pages;
  return limits;
}

StepInput input_of(int descriptor) {
  StepInput input;
  input.descriptor = descriptor;
  struct stat about {};
  if (::fstat(descriptor, &about) == 0) input.bytes = static_cast<std::uint64_t>(about.st_size);
  return input;
}

std::vector<StepInput> inputs_of(const Order& order, std::string_view text) {
  std::vector<StepInput> inputs;
  for (std::size_t i = kOrderDescriptors; i < order.descriptors.size(); ++i) {
    inputs.push_back(input_of(order.descriptors[i].get()));
  }
  boost::system::error_code failed;
  const json::value parsed = json::parse(text, failed);
  if (failed || !parsed.is_object()) return inputs;
  const json::value* files = parsed.get_object().if_contains("files");
  if (files == nullptr || !files->is_array()) return inputs;
  const json::array& list = files->get_array();
  for (std::size_t i = 0; i < std::min(list.size(), inputs.size()); ++i) {
    inputs[i].file = json::value_to<std::int64_t>(list[i].at("file"));
    inputs[i].filename = json::value_to<std::string>(list[i].at("filename"));
  }
  return inputs;
}

StepEnd run_step(const Step& step, const Order& order) {
  const std::string text = read_input(input_of(order.task()), kTaskBytesMax);
  auto task = parse_step_task(text);
  if (!task) return Failure{model::ErrorKind::Internal, task.error().message()};
  PartWriter out(order.output(), order.run.boundary);
  StepContext context{*std::move(task), inputs_of(order, text), limits_of(order.run), out};
  StepEnd end = step.run(context);
  out.flush();
  return end;
}

// For `quern explain`: whatever goes to standard error lands in the note.
int run_guarded(const Step& step, const Order& order) {
  try {
    const StepEnd end = run_step(step, order);
    const std::string text = end_text(end);
    return ::write(order.end(), text.data(), text.size()) > 0 ? 0 : kExitException;
  } catch (const std::bad_alloc&) {
    return kExitOutOfMemory;
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "%s\n", exception.what());
    return kExitException;
  }
}

[[noreturn]] void run_child(const Step& step, const Order& order, const SyscallFilter* filter) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const Report started{Report::Kind::Started};
  if (!send_message(kZygoteChannel, bytes_of(started))) ::_exit(kExitNoBox);
  ::close(kZygoteChannel);
  ::dup2(order.note(), STDOUT_FILENO);
  ::dup2(order.note(), STDERR_FILENO);
  ::setvbuf(stderr, nullptr, _IOLBF, 4096);
  limit_child(order.run, step);
  if (filter != nullptr && !filter->apply()) ::_exit(kExitNoBox);
  const int code = run_guarded(step, order);
  std::fflush(stderr);
  ::_exit(code);
}

std::int64_t microseconds(const timeval& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000 + time.tv_usec;
}

Report own_usage() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  Report report{Report::Kind::Ended};
  report.cpu_us = microseconds(used.ru_utime) + microseconds(used.ru_stime);
  report.peak_kib = used.ru_maxrss;
  return report;
}

std::optional<Order> receive_order(int channel) {
  auto received = receive_message(channel);
  if (!received || received->bytes.size() != sizeof(RunOrder) ||
      received->descriptors.size() < kOrderDescriptors) {
    return std::nullopt;
  }
  Order order;
  std::memcpy(&order.run, received->bytes.data(), sizeof order.run);
  order.descriptors = std::move(received->descriptors);
  return order;
}

// The life of a kept child: one task after the other, until one goes wrong.
[[noreturn]] void serve_kept(const Step& step, const SyscallFilter* filter, int channel) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int out = ::dup(STDOUT_FILENO);
  const int error = ::dup(STDERR_FILENO);
  ::setvbuf(stderr, nullptr, _IOLBF, 4096);
  if (filter != nullptr && !filter->apply()) ::_exit(kExitNoBox);
  step.begin();
  for (;;) {
    const std::optional<Order> order = receive_order(channel);
    if (!order) ::_exit(0);
    const std::int64_t before_us = own_usage().cpu_us;
    const Report started{Report::Kind::Started};
    if (!send_message(kZygoteChannel, bytes_of(started))) ::_exit(kExitNoBox);
    ::dup2(order->note(), STDOUT_FILENO);
    ::dup2(order->note(), STDERR_FILENO);
    limit_child(order->run, step);
    const int code = run_guarded(step, *order);
    std::fflush(stderr);
    if (code != 0) ::_exit(code);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(error, STDERR_FILENO);
    Report ended = own_usage();
    ended.cpu_us -= before_us;
    if (!send_message(channel, bytes_of(ended))) ::_exit(0);
  }
}

Report wait_for(pid_t child) {
  Report report{Report::Kind::Ended};
  rusage used{};
  while (::wait4(child, &report.wait_status, 0, &used) < 0 && errno == EINTR) {
  }
  report.cpu_us = microseconds(used.ru_utime) + microseconds(used.ru_stime);
  report.peak_kib = used.ru_maxrss;
  return report;
}

class Zygote {
 public:
  Zygote(const Step& step, Confinement confinement)
      : step_(step), confinement_(std::move(confinement)) {
    auto filter = SyscallFilter::make(step_);
    if (filter) {
      filter_.emplace(*std::move(filter));
      confinement_.done.emplace_back("seccomp");
    } else {
      confinement_.missing.push_back("seccomp: " + filter.error().message());
    }
  }

  int serve() {
    step_.warm();
    if (step_.begin != nullptr) keep_child();
    const Report ready{Report::Kind::Ready};
    const std::string message =
        fmt::format("{}{}\n{}\n{}\n{}", bytes_of(ready), step_.version(), step_.tasks_per_poll,
                    step_.wall_ms_max, confinement_.json());
    if (!send_message(kZygoteChannel, message)) return kExitNoBox;
    for (;;) {
      std::optional<Order> order = receive_order(kZygoteChannel);
      if (!order) return 0;
      const Report ended = step_.begin != nullptr ? run_kept(*order) : run(*order);
      if (!send_message(kZygoteChannel, bytes_of(ended))) return 0;
    }
  }

 private:
  Report run(Order& order) {
    const pid_t child = ::fork();
    if (child == 0) run_child(step_, order, filter_ ? &*filter_ : nullptr);
    order.descriptors.clear();
    if (child < 0) return Report{Report::Kind::Ended, kExitNoBox << 8};
    const Report ended = wait_for(child);
    clear();
    return ended;
  }

  // Whatever a child left behind in our namespace.
  void clear() {
    if (confinement_.has("processes")) ::kill(-1, SIGKILL);
    empty_scratch(confinement_, Leftovers::All);
  }

  void keep_child() {
    kept_ = KeptChild::start([this](int channel) {
      const SyscallFilter* filter = filter_ ? &*filter_ : nullptr;
      serve_kept(step_, filter, channel);
    });
  }
  void retire() {
    if (!kept_) return;
    kept_->kill();
    kept_.reset();
    clear();
  }

  Report run_kept(Order& order) {
    if (kept_ && !kept_->suits(order.run)) retire();
    if (!kept_) keep_child();
    if (!kept_) return Report{Report::Kind::Ended, kExitNoBox << 8};
    std::vector<int> given;
    for (const io::Descriptor& descriptor : order.descriptors) given.push_back(descriptor.get());
    const bool sent = kept_->send(order.run, given);
    order.descriptors.clear();
    if (sent) {
      if (const std::optional<Report> ended = kept_->receive()) {
        empty_scratch(confinement_, Leftovers::Task);
        return *ended;
      }
    }
    // It has died, or is about to.
    const Report ended = wait_for(kept_->pid());
    kept_.reset();
    clear();
    return ended;
  }

  const Step& step_;
  Confinement confinement_;
  std::optional<SyscallFilter> filter_;
  std::optional<KeptChild> kept_;
};

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? json::value_to<std::string>(*value) : "";
}

bool flag_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

}  // namespace

int run_zygote(const Step& step) {
  // Names in archives are looked at as UTF-8; messages of libraries stay English.
  ::setlocale(LC_CTYPE, "C.UTF-8");
  ConfineOptions options;
  options.keep = kZygoteChannel;
  Zygote zygote(step, confine(options));
  return zygote.serve();
}

Result<StepTask> parse_step_task(std::string_view text) {
  boost::system::error_code failed;
  const json::value parsed = json::parse(text, failed);
  if (failed || !parsed.is_object()) return Error{Errc::Invalid, "the task is no JSON object"};
  const json::object& object = parsed.get_object();
  StepTask task;
  task.filename = text_of(object, "filename");
  task.content_type = text_of(object, "contentType");
  task.detected_type = text_of(object, "detectedType");
  task.language_code = text_of(object, "languageCode");
  task.want_ocr = flag_of(object, "wantOcr");
  task.want_split_by_page = flag_of(object, "wantSplitByPage");
  const json::value* metadata = object.if_contains("metadata");
  if (metadata != nullptr && metadata->is_object()) task.metadata = json::serialize(*metadata);
  return task;
}

// "done", or "KIND message".
std::string end_text(const StepEnd& end) {
  if (!end) return "done";
  const std::string text = fmt::format("{} {}", model::to_string(end->kind), end->message);
  return text.substr(0, kEndBytesMax);
}

Result<StepEnd> parse_end(std::string_view text) {
  if (text == "done") return StepEnd{};
  const std::size_t blank = text.find(' ');
  const auto kind = model::parse_error_kind(text.substr(0, std::min(blank, text.size())));
  if (!kind || blank == std::string_view::npos) {
    return Error{Errc::Invalid, "the step did not say how it ended"};
  }
  return StepEnd(Failure{*kind, valid_utf8(text.substr(blank + 1))});
}

}  // namespace quern::worker
