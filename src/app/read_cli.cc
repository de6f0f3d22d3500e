#include <CLI/CLI.hpp>
#include <memory>

#include "app/prove_command.h"
#include "app/read_command.h"

namespace quern::app {
namespace {

// Options lie where CLI11 and the command find them, for as long as either is there.
template <class Options>
void run_with(CLI::App* command, Run& run, std::shared_ptr<Options> options,
              net::Task<Result<int>> (*function)(Command, Options)) {
  command->callback([&run, options, function] {
    run = [options, function](Command c) { return function(c, *options); };
  });
}

constexpr char kStrictHelp[] = "exit 1 if errors are among the files";
constexpr char kNoIdsHelp[] = "with --json: leave out what differs between two runs";

CLI::App* add_list(CLI::App& app, Run& run, const std::string& name, const std::string& help) {
  CLI::App* command = app.add_subcommand(name, help);
  auto order = std::make_shared<ListOrder>();
  order->list = name;
  command->add_option("--collection", order->collection, "(default: default)")->type_name("NAME");
  command->add_option("--job", order->job, "only what this job brought")->type_name("JOB");
  command->add_flag("--no-ids", order->no_ids, kNoIdsHelp);
  command->add_flag("--strict", order->strict, kStrictHelp);
  if (name == "documents") command->add_flag("--text", order->text, "with their texts");
  if (name == "errors") {
    command->add_flag("--superseded", order->superseded, "also those that were tried again since");
  }
  run_with(command, run, order, list_results);
  return command;
}

void add_lists(CLI::App& app, Run& run) {
  add_list(app, run, "files", "Every file that came in, and all that was found in them.")
      ->footer(
          "Examples:\n"
          "  quern files\n"
          "  quern files --collection council-2026 --json --no-ids > before.txt");
  add_list(app, run, "documents", "What can be read now.")
      ->footer(
          "Examples:\n"
          "  quern documents --job 3\n"
          "  quern documents --text --json | jq -r .text");
  add_list(app, run, "errors", "Files that could not become more, and why.")
      ->footer(
          "Kinds: unhandled, canceled, encrypted, corrupt, unsupported, too_large, too_deep,\n"
          "too_many, ratio, timeout, out_of_memory, crash, protocol, fetch, internal.\n"
          "Examples:\n"
          "  quern errors\n"
          "  quern errors --json | jq -r 'select(.kind == \"encrypted\") | .filename'");
}

void add_file_commands(CLI::App& app, Run& run) {
  CLI::App* tree = app.add_subcommand("tree", "What is in what: documents and errors stand out.");
  auto below = std::make_shared<FileOrder>();
  tree->add_option("FILE", below->file, "a file by name or number (default: all)");
  tree->add_option("--collection", below->collection, "(default: default)")->type_name("NAME");
  tree->add_option("--job", below->job, "what this job brought")->type_name("JOB");
  tree->add_flag("--no-ids", below->no_ids, kNoIdsHelp);
  tree->add_flag("--strict", below->strict, kStrictHelp);
  tree->footer("Examples:\n  quern tree\n  quern tree leak.zip\n  quern tree --job 3");
  run_with(tree, run, below, show_tree);

  CLI::App* explain_app = app.add_subcommand(
      "explain", "Why a file is where it is: step, worker, cost, what it waits for.");
  auto one = std::make_shared<FileOrder>();
  explain_app->add_option("FILE", one->file,
                          "a file by name or number, an address of the web, or a DOI");
  explain_app->add_option("--collection", one->collection, "(default: default)")->type_name("NAME");
  explain_app->add_option("--job", one->job, "of this job; without FILE: a dataset's own story")
      ->type_name("JOB");
  explain_app->footer(
      "Examples:\n  quern explain leak.zip/run.bin\n  quern explain 17 --json\n"
      "  quern explain https://example.org/private\n  quern explain 10.5281/zenodo.1028059");
  run_with(explain_app, run, one, explain);
}

void add_job_commands(CLI::App& app, Run& run) {
  CLI::App* jobs = app.add_subcommand("jobs", "What was asked for, the newest first.");
  auto listed = std::make_shared<JobOrder>();
  jobs->add_option("--collection", listed->collection, "only of this one")->type_name("NAME");
  jobs->footer("Examples:\n  quern jobs\n  quern jobs --collection council-2026 --json");
  run_with(jobs, run, listed, list_jobs);

  CLI::App* job = app.add_subcommand("job", "One job: how far it is, what came of it.");
  auto shown = std::make_shared<JobOrder>();
  job->add_option("JOB", shown->name, "its number")->required();
  job->add_flag("--strict", shown->strict, kStrictHelp);
  job->footer("Examples:\n  quern job 3\n  quern job 3 --json");
  run_with(job, run, shown, show_job);

  CLI::App* cancel =
      app.add_subcommand("cancel", "End what is left of a job; what was made stays.");
  auto canceled = std::make_shared<JobOrder>();
  cancel->add_option("JOB", canceled->name, "its number")->required();
  cancel->add_flag("--no-wait", canceled->no_wait, "do not wait until it has ended");
  cancel->footer("Examples:\n  quern cancel 3");
  run_with(cancel, run, canceled, cancel_job);
}

void add_change_commands(CLI::App& app, Run& run) {
  CLI::App* again =
      app.add_subcommand("retry", "Try files that failed again, each in a job of its own.");
  auto retried = std::make_shared<JobOrder>();
  CLI::Option* file = again->add_option("FILE", retried->name, "a file by name or number");
  CLI::Option* kind =
      again->add_option("--kind", retried->kind, "all that failed in this way")->type_name("KIND");
  kind->excludes(file);
  again->add_option("--collection", retried->collection, "(default: default)")->type_name("NAME");
  again->add_flag("--no-wait", retried->no_wait, "do not wait for what comes of it");
  again->add_flag("--strict", retried->strict, "exit 1 if some failed again");
  again->footer(
      "What was tried again counts as superseded: quern errors leaves it out.\n"
      "Examples:\n"
      "  quern retry leak.zip/broken.doc\n"
      "  quern retry --kind unsupported --collection council-2026");
  again->callback([&run, retried] {
    if (retried->name.empty() && retried->kind.empty()) {
      throw CLI::RequiredError("FILE or --kind");
    }
    run = [retried](Command c) { return retry(c, *retried); };
  });

  CLI::App* gone = app.add_subcommand("delete", "Delete a job or a collection with all its files.");
  auto deleted = std::make_shared<JobOrder>();
  gone->add_option("JOB|COLLECTION", deleted->name, "the number of a job, or a collection's name")
      ->required();
  gone->add_flag("--no-wait", deleted->no_wait, "do not wait until all of it is gone");
  gone->footer("Examples:\n  quern delete 3\n  quern delete council-2026");
  run_with(gone, run, deleted, delete_job);

  CLI::App* ledger = app.add_subcommand("ledger", "Accounts: what came in, and what became of it.");
  auto accounts = std::make_shared<JobOrder>();
  ledger->add_option("COLLECTION", accounts->name, "(default: all)");
  ledger->add_flag("--strict", accounts->strict, kStrictHelp);
  ledger->footer(
      "Each file is one thing; exit 1 where the sums do not balance.\n"
      "Examples:\n  quern ledger\n  quern ledger council-2026 --json");
  run_with(ledger, run, accounts, show_ledger);
}

void add_local_commands(CLI::App& app, Run& run) {
  CLI::App* types =
      app.add_subcommand("detect", "The type that Quern sees, and which step takes it.");
  auto paths = std::make_shared<std::vector<std::string>>();
  types->add_option("PATH", *paths, "files")->required();
  types->footer("Examples:\n  quern detect letter.doc\n  quern detect --json inbox/*");
  run_with(types, run, paths, detect);

  CLI::App* proof = app.add_subcommand(
      "prove",
      "Kill imports of copies of a folder at every durable write, and compare what comes out.");
  auto order = std::make_shared<ProveOrder>();
  proof->add_option("PATH", order->path, "a file or folder to import")->required();
  proof->add_option("--minutes", order->minutes, "stop after so long (default: no limit)")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  proof->add_option("--writes", order->writes_max, "kill at so many writes at most (default 500)")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  proof->footer(
      "Your data folder is not touched: each run has one of its own, in the temporary folder.\n"
      "Examples:\n  quern prove inbox/\n  quern prove leak.zip --minutes 10");
  run_with(proof, run, order, prove);
}

}  // namespace

void add_read_commands(CLI::App& app, Run& run) {
  add_job_commands(app, run);
  add_lists(app, run);
  add_file_commands(app, run);
  add_change_commands(app, run);
  add_local_commands(app, run);
}

}  // namespace quern::app
