// quern-steps with steps that misbehave in every way, for the tests of the box and of the broker.
//
// "Hostile" does what the file's name says; "Guess" is a Detect that dies of a file named "crash";
// "Research" does what the bytes of a clip and of an episode say.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "worker/research_lines.h"
#include "worker/worker_main.h"

namespace quern::worker {
namespace {

using Behaviour = StepEnd (*)(StepContext&);

StepEnd crash(StepContext&) {
  ::raise(SIGSEGV);
  *static_cast<volatile int*>(nullptr) = 1;
  return std::nullopt;
}

StepEnd abort_it(StepContext&) {
  std::abort();
}

StepEnd exit_badly(StepContext&) {
  ::_exit(5);
}

// Ends well, and has said nothing.
StepEnd say_nothing(StepContext&) {
  ::_exit(0);
}

StepEnd hang(StepContext&) {
  for (;;) ::pause();
}

StepEnd sleep_for_ever(StepContext&) {
  for (;;) ::usleep(10'000);
}

StepEnd spin(StepContext&) {
  volatile std::uint64_t n = 0;
  for (;;) n = n + 1;
}

StepEnd allocate(StepContext&) {
  std::vector<std::unique_ptr<char[]>> kept;
  for (;;) {
    constexpr std::size_t kBytes = 16 << 20;
    kept.push_back(std::make_unique<char[]>(kBytes));
    std::memset(kept.back().get(), 1, kBytes);
  }
}

// Memory that no limit of the system counts.
StepEnd share(StepContext&) {
  for (;;) {
    constexpr std::size_t kBytes = 16 << 20;
    void* memory =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return Failure{model::ErrorKind::Internal, "mmap failed"};
    std::memset(memory, 1, kBytes);
    ::usleep(1000);
  }
}

StepEnd flood(StepContext& context) {
  context.out.part("0.json", child_json(context.task, {"flood", "text/plain"}));
  context.out.begin("0.blob");
  const std::string bytes(1 << 20, 'x');
  for (;;) context.out.write(bytes);
}

StepEnd die_in_a_part(StepContext& context) {
  context.out.part("0.json", child_json(context.task, {"first", "text/plain"}));
  context.out.part("0.blob", "whole");
  context.out.part("progress", "0.5");
  context.out.part("1.json", child_json(context.task, {"second", "text/plain"}));
  context.out.begin("1.blob");
  context.out.write("only half of wh");
  context.out.flush();
  return crash(context);
}

StepEnd print_much(StepContext& context) {
  for (int i = 0; i < 100'000; ++i) std::fprintf(stderr, "line %d of a talkative library\n", i);
  context.out.part("0.json", child_json(context.task, {"quiet", "text/plain"}));
  context.out.part("0.blob", "done");
  return std::nullopt;
}

StepEnd refuse(StepContext&) {
  return Failure{model::ErrorKind::Encrypted, "it opens with a \"password\" only"};
}

StepEnd echo(StepContext& context) {
  context.out.part("0.json", child_json(context.task, {context.task.filename, "text/plain"}));
  context.out.part("0.blob", read_input(context.inputs.at(0), UINT64_MAX));
  return std::nullopt;
}

// A piece, a while, a piece: until somebody stops it.
StepEnd trickle(StepContext& context) {
  for (int i = 0;; ++i) {
    context.out.part(fmt::format("{}.json", i),
                     child_json(context.task, {fmt::format("piece {}", i), "text/plain"}));
    context.out.part(fmt::format("{}.blob", i), "piece");
    context.out.part("progress", "0.1");
    context.out.flush();
    ::usleep(20'000);
  }
}

StepEnd environment(StepContext& context) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    context.out.raw(std::string(*entry) + "\n");
  }
  return std::nullopt;
}

// What the task before left in the folder to write in, then something for the next.
StepEnd scratch(StepContext& context) {
  std::error_code failed;
  int found = 0;
  for (std::filesystem::directory_iterator entry(".", failed), end; !failed && entry != end;
       entry.increment(failed)) {
    ++found;
  }
  const int file = ::open("left-behind", O_CREAT | O_WRONLY, 0600);
  context.out.raw(fmt::format("found {} {}\nwrite {}\n", found, failed.message(),
                              file >= 0 ? "ok" : std::strerror(errno)));
  return std::nullopt;
}

std::string outcome(long result) {
  return result >= 0 ? "done" : ::strerrorname_np(errno);
}

long connect_somewhere(int family) {
  const int fd = ::socket(family, SOCK_STREAM, 0);
  if (fd < 0) return -1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(9);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
}

long run_program() {
  char program[] = "/usr/bin/true";
  char* arguments[] = {program, nullptr};
  return ::execve(program, arguments, nullptr);
}

long fork_one() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  return child;
}

// A line for each thing tried. The file to look for is named in the metadata.
StepEnd escape(StepContext& context) {
  const std::string& metadata = context.task.metadata;
  const std::size_t at = metadata.find('/');
  const std::string secret = metadata.substr(at, metadata.rfind('"') - at);
  const auto tell = [&context](std::string_view what, long result) {
    context.out.raw(fmt::format("{} {}\n", what, outcome(result)));
  };
  tell("inet", connect_somewhere(AF_INET));
  tell("unix", ::socket(AF_UNIX, SOCK_STREAM, 0));
  tell("netlink", ::socket(AF_NETLINK, SOCK_RAW, 0));
  tell("secret", ::open(secret.c_str(), O_RDONLY));
  tell("passwd", ::open("/etc/passwd", O_RDONLY));
  tell("proc", ::open("/proc/1/environ", O_RDONLY));
  tell("library", ::open("/usr/lib/os-release", O_RDONLY));
  tell("write", ::open("/usr/lib/written", O_CREAT | O_WRONLY, 0600));
  tell("write_tmp", ::open("/tmp/written", O_CREAT | O_WRONLY, 0600));
  tell("fork", fork_one());
  tell("exec", run_program());
  tell("ptrace", ::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr));
  tell("kill", ::kill(::getppid(), SIGKILL));
  tell("kill_all", ::kill(-1, SIGKILL));
  tell("mount", ::mount("tmpfs", "/scratch", "tmpfs", 0, nullptr));
  tell("unshare", ::syscall(SYS_unshare, 0x10000000));
  tell("clone3", ::syscall(SYS_clone3, nullptr, 0));
  tell("setuid", ::syscall(SYS_setuid, 0));
  tell("bpf", ::syscall(SYS_bpf, 0, nullptr, 0));
  tell("io_uring", ::syscall(SYS_io_uring_setup, 1, nullptr));
  tell("root", ::geteuid() == 0 ? 0 : (errno = EPERM, -1));
  return std::nullopt;
}

const std::map<std::string_view, Behaviour> kBehaviours = {
    {"crash", crash},        {"abort", abort_it},
    {"exit", exit_badly},    {"nothing", say_nothing},
    {"hang", hang},          {"sleep", sleep_for_ever},
    {"spin", spin},          {"allocate", allocate},
    {"share", share},        {"flood", flood},
    {"half", die_in_a_part}, {"print", print_much},
    {"refuse", refuse},      {"echo", echo},
    {"trickle", trickle},    {"environment", environment},
    {"scratch", scratch},    {"escape", escape},
};

StepEnd run_hostile(StepContext& context) {
  const auto found = kBehaviours.find(context.task.filename);
  return found != kBehaviours.end() ? found->second(context) : echo(context);
}

StepEnd run_guess(StepContext& context) {
  for (const StepInput& input : context.inputs) {
    context.out.flush();
    if (input.filename == "crash") crash(context);
    if (input.filename != "silent") context.out.raw(fmt::format("{} text/plain\n", input.file));
  }
  return std::nullopt;
}

// A step whose child is kept: it counts its tasks, and what it finds of them.
int tasks_of_child = -1;
void begin_kept() {
  tasks_of_child = 0;
  std::filesystem::create_directory("/scratch/kept");
}
StepEnd run_counting(StepContext& context) {
  ++tasks_of_child;
  if (kBehaviours.contains(context.task.filename)) return run_hostile(context);
  std::error_code failed;
  int found = 0;
  for (std::filesystem::directory_iterator entry("/scratch", failed), end; !failed && entry != end;
       entry.increment(failed)) {
    ++found;
  }
  std::ofstream("/scratch/left").put('x');
  context.out.raw(fmt::format("task {}, {} in the folder\n", tasks_of_child, found));
  return std::nullopt;
}

// "crash" and "hang" do that; "once" and "found" are found, "sound" if there is the sound;
// "silence" cannot be looked for; "lie" says nonsense; anything else is not there.
void look_for(StepContext& context, std::size_t place, const std::string& clip, bool has_sound) {
  const auto say = [&context](const ResearchLine& line) {
    context.out.raw(line_of(line));
    context.out.flush();
  };
  ResearchLine line{ResearchLine::Kind::Begin, place, {}};
  say(line);
  if (clip == "crash") crash(context);
  if (clip == "hang") hang(context);
  if (clip == "mute") return;
  if (clip == "lie") context.out.raw("{\"clip\":7000,\"offsets_ns\":[-1]}\n{]\n\xff\xfe\n");
  line.kind = ResearchLine::Kind::Result;
  line.result.episode_duration_ns = 60'000'000'000;
  line.result.clip_duration_ns = 1'000'000'000;
  if (clip == "sound" && !has_sound) line.kind = ResearchLine::Kind::NeedsSound;
  if (clip == "sound" || clip == "found") line.result.found = {{5, 0.5}, {7'000'000'000, 0.875}};
  if (clip == "silence") line.result.error = "the clip is silent";
  say(line);
}

StepEnd run_research(StepContext& context) {
  const auto task = parse_research_task(context.task.metadata);
  const std::string first = read_input(context.inputs.at(0), 1000);
  if (first == "crash") crash(context);
  if (first == "broken") return Failure{model::ErrorKind::Corrupt, "it is broken"};
  if (task->mode == ResearchMode::Index) {
    context.out.raw(framed({"\x01\x02", 60'000'000'000, "print of " + first}));
    return std::nullopt;
  }
  const std::size_t before = task->sound ? 2 : 1;
  for (std::size_t i = before; i < context.inputs.size(); ++i) {
    look_for(context, i - before, read_input(context.inputs[i], 1000), task->sound);
  }
  return std::nullopt;
}

std::string version() {
  return "0";
}

void warm() {}

// Its child never gets to its first task.
Step unready_step() {
  Step step{"Unready", version, warm, run_counting, 1};
  step.begin = [] { ::pause(); };
  return step;
}

Step counting_step() {
  Step step{"Counting", version, warm, run_counting, 1};
  step.begin = begin_kept;
  return step;
}

}  // namespace
}  // namespace quern::worker

int main(int argc, char** argv) {
  using namespace quern::worker;
  const Step steps[] = {{"Hostile", version, warm, run_hostile, 4},
                        {"Guess", version, warm, run_guess, 64},
                        {"Research", version, warm, run_research, 1},
                        counting_step(),
                        unready_step()};
  if (argc == 3) return box_main(argc, argv, steps);
  constexpr StepPlace kHere[] = {
      {"Hostile", ""}, {"Guess", ""}, {"Counting", ""}, {"Unready", ""}, {"Research", ""}};
  return worker_main(argc, argv, kHere);
}
