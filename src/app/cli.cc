#include "app/cli.h"

#include <fmt/format.h>
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <csignal>
#include <cstdlib>
#include <memory>

#include "app/add_command.h"
#include "app/command.h"
#include "app/config.h"
#include "app/crawl_command.h"
#include "app/dataset_command.h"
#include "app/episodes_command.h"
#include "app/export_command.h"
#include "app/output.h"
#include "app/queue_cli.h"
#include "app/read_command.h"
#include "app/research_command.h"
#include "app/search_command.h"
#include "app/token_command.h"
#include "base/crash.h"
#include "base/log.h"

namespace quern::app {
namespace {

// What the flags said; empty where they said nothing.
struct Parsed {
  std::map<std::string, std::string> values;
  std::map<std::string, bool> switches;
  bool json = false;
  bool print_config = false;
  bool serves = false;  // for long, with a log that people expect
  CounterAddition addition;
  std::string counter;
  Run run;
};

void add_settings(CLI::App& app, Parsed& parsed) {
  for (const Setting& setting : settings()) {
    const std::string flag = "--" + setting.name;
    const std::string help =
        fmt::format("{}{} [{}]", setting.help,
                    setting.default_text.empty() ? "" : " (default " + setting.default_text + ")",
                    environment_name(setting));
    if (setting.value_name.empty()) {
      app.add_flag(flag, parsed.switches[setting.name], help);
    } else {
      app.add_option(flag, parsed.values[setting.name], help)->type_name(setting.value_name);
    }
  }
  app.add_flag("--json", parsed.json, "output for programs, one JSON object a line");
  app.add_flag("--print-config", parsed.print_config,
               "show every setting and who chose it, and end");
}

void add_serve(CLI::App& app, Parsed& parsed) {
  CLI::App* serve_app = app.add_subcommand("serve", "Serve a data folder until SIGTERM.");
  serve_app->footer(
      "Examples:\n"
      "  quern serve\n"
      "  quern serve --data /srv/quern --listen 127.0.0.1:9000\n"
      "  quern serve --db postgres://quern@db/quern");
  serve_app->callback([&parsed] {
    parsed.serves = true;
    parsed.run = [](Command c) { return serve(c); };
  });
}

void add_counter(CLI::App& app, Parsed& parsed) {
  CLI::App* counter =
      app.add_subcommand("counter", "Durable counters, to show how Quern keeps things.");
  counter->require_subcommand(1);
  counter->footer(
      "Examples:\n"
      "  quern counter add visits\n"
      "  quern counter add visits --by 5 --key order-17   # again with the key: changes nothing\n"
      "  quern counter list --json");

  CLI::App* add = counter->add_subcommand("add", "Add to a counter; made with the first addition.");
  add->add_option("NAME", parsed.addition.name, "the counter")->required();
  add->add_option("--by", parsed.addition.amount, "how much (default 1)")->type_name("N");
  add->add_option("--times", parsed.addition.times, "how many additions, each durable on its own")
      ->type_name("N")
      ->check(CLI::Range(1, kTimesMax));
  add->add_option("--key", parsed.addition.key, "makes repeating this command harmless")
      ->type_name("TEXT");
  add->callback([&parsed] {
    parsed.run = [&parsed](Command c) { return add_to_counter(c, parsed.addition); };
  });

  CLI::App* snapshot = counter->add_subcommand("snapshot", "Write a counter's value to a file.");
  snapshot->add_option("NAME", parsed.counter, "the counter")->required();
  snapshot->callback([&parsed] {
    parsed.run = [&parsed](Command c) { return snapshot_counter(c, parsed.counter); };
  });

  CLI::App* list = counter->add_subcommand("list", "All counters, by name.");
  list->callback([&parsed] { parsed.run = [](Command c) { return list_counters(c); }; });
}

void add_check(CLI::App& app, Parsed& parsed) {
  CLI::App* check_app = app.add_subcommand(
      "check", "Verify every invariant of a data folder; exit 1 names what is wrong.");
  check_app->footer("Examples:\n  quern check\n  quern check --data /srv/quern --json");
  check_app->callback([&parsed] { parsed.run = [](Command c) { return check(c); }; });
}

Result<Config> resolve(const CLI::App& app, const Parsed& parsed) {
  const auto flag = [&](const std::string& name) -> std::optional<std::string> {
    if (app.get_option("--" + name)->count() == 0) return std::nullopt;
    const auto text = parsed.values.find(name);
    if (text != parsed.values.end()) return text->second;
    return parsed.switches.at(name) ? "on" : "off";
  };
  const auto environment = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  return load_config(flag, environment);
}

int report(const Error& error, bool json, int exit_code) {
  if (json) {
    const boost::json::object line{
        {"error", {{"kind", to_string(error.kind())}, {"message", error.message()}}}};
    complain(boost::json::serialize(line));
  } else {
    complain("quern: " + error.message());
  }
  return exit_code;
}

int run_parsed(const CLI::App& app, const Parsed& parsed) {
  const Result<Config> config = resolve(app, parsed);
  if (!config.ok()) return report(config.error(), parsed.json, kExitUsage);
  if (parsed.print_config) {
    std::string text = parsed.json ? describe_json(*config) : describe(*config);
    text.pop_back();  // its last line end
    const Result<> printed = print_line(text);
    return printed.ok() ? kExitDone : report(printed.error(), parsed.json, kExitUnfinished);
  }
  if (!parsed.run) {
    complain(app.help());
    return kExitUsage;
  }
  // A command speaks for itself: what its engine room notes is for those who ask.
  const bool unasked = config->chosen.at("log-level").source == Source::Default;
  set_log(unasked && !parsed.serves ? LogLevel::Warn : config->log_level, config->log_format);
  const OutputFormat format = parsed.json ? OutputFormat::Json : OutputFormat::Human;
  net::Loop loop;
  const Result<int> code = loop.run_until(parsed.run(Command{loop, *config, format}));
  if (code.ok()) return *code;
  const bool wrong_request = code.error().kind() == Errc::Invalid;
  return report(code.error(), parsed.json, wrong_request ? kExitUsage : kExitUnfinished);
}

}  // namespace

int run_command_line(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  // One heap for all threads: with one each, what they free stays theirs, and imports of 20,000
  // files one after the other took 20, 28, 32 and 33 MiB instead of 19, 19, 19 and 19.
  ::mallopt(M_ARENA_MAX, 1);
  const Result<> armed = arm_crash_from_environment();
  if (!armed.ok()) return report(armed.error(), false, kExitUsage);

  Parsed parsed;
  CLI::App app("Quern turns what people collect into documents that can be read and searched.",
               "quern");
  app.fallthrough();
  app.require_subcommand(0, 1);
  add_settings(app, parsed);
  add_serve(app, parsed);
  add_add_command(app, parsed.run);
  add_crawl_command(app, parsed.run);
  add_dataset_command(app, parsed.run);
  add_episodes_commands(app, parsed.run);
  add_research_commands(app, parsed.run);
  add_export_command(app, parsed.run);
  add_read_commands(app, parsed.run);
  add_search_commands(app, parsed.run, parsed.serves);
  add_counter(app, parsed);
  add_partition_commands(app, parsed.run);
  add_item_commands(app, parsed.run);
  add_token_commands(app, parsed.run);
  add_check(app, parsed);
  app.footer("Exit codes: 0 done, 1 done but something is wrong, 2 usage, 3 could not finish.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 throws for --help too.
    return app.exit(error) == 0 ? kExitDone : kExitUsage;
  }
  return run_parsed(app, parsed);
}

}  // namespace quern::app
