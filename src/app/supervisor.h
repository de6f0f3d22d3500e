// Supervisor: starts local workers (quern-steps) for what waits, and lets them go when nothing
// does.
//
// It starts one for a step while files wait that no idle worker takes, fewer tasks run than there
// are cores, and the writer has room. A job that has waited a second for a step gets one worker
// beyond the cores. Workers end by themselves when they are idle. One that dies is noticed at once
// (its pidfd), and its tasks are lent again; a program that keeps dying is started ever more
// rarely.
//
// It starts researchers, too, while items of research wait that none of those who ask takes. One
// that dies is told of, so that what it had leased is free at once.
//
// On the loop. stop() before the loop ends; the destructor kills.
#pragma once

#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "app/config.h"
#include "io/process.h"
#include "net/event.h"
#include "net/loop.h"
#include "step/pipeline.h"
#include "store/writer.h"

namespace quern::app {

struct SupervisorOptions {
  std::filesystem::path program;  // empty: there is none
  std::filesystem::path server;   // the Unix socket of this node
  LocalSteps steps;
  std::set<model::StepId> installed;
  std::int64_t researchers_max = 0;  // 0: none are started
  std::function<bool()> research_waits;
  std::function<void(const std::string& researcher)> researcher_gone;
};

// How the names of researchers begin that a server has started: they die with it.
inline constexpr std::string_view kLocalResearcher = "local/";

// The worker program: as told, else beside this program, else in PATH; empty where there is none.
std::filesystem::path find_steps_program(const std::filesystem::path& told);
// What it says it can do. Blocks for as long as that takes.
struct Installed {
  std::set<model::StepId> steps;
  bool research = false;
};
Installed installed_steps(const std::filesystem::path& program);

class Supervisor {
 public:
  Supervisor(net::Loop& loop, step::Pipeline& pipeline, store::Writer& writer,
             SupervisorOptions options);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  void start();
  // Something waits.
  void wake();
  // Workers are killed: dying is safe, and quick. Researchers may give back what they have leased
  // before that.
  net::Task<> stop();

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace quern::app
