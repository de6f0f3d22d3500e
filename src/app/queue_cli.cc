#include "app/queue_cli.h"

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <memory>

#include "app/queue_command.h"

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

void add_partition_flags(CLI::App* put, PartitionPut* into) {
  const auto text = [=](const char* flag, const char* field, const char* help) {
    put->add_option_function<std::string>(
           flag, [=](const std::string& value) { into->fields[field] = value; }, help)
        ->type_name("URL");
  };
  const auto number = [=](const char* flag, const char* field, const char* unit, const char* help) {
    put->add_option_function<std::int64_t>(
           flag, [=](const std::int64_t& value) { into->fields[field] = value; }, help)
        ->type_name(unit);
  };
  const auto either = [=](const char* flag, const char* field, const char* help) {
    put->add_flag_function(
        flag, [=](std::int64_t value) { into->fields[field] = value > 0; }, help);
  };
  text("--handler", "handler", "gets a POST with each item's bytes; needed for a new partition");
  either("--auto-close,!--no-auto-close", "auto_close",
         "closes when all is complete; an empty one when sealed");
  either("--manual-checkpoint,!--no-manual-checkpoint", "manual_checkpoint",
         "gates open by 'partition advance' only");
  number("--max-retries", "max_retries", "N", "-1: without end (default 5)");
  number("--priority", "priority", "N", "higher ones are claimed first (default 0)");
  number("--concurrency", "concurrency", "N", "items running at once (default 10)");
  number("--backoff", "backoff_ms", "MS", "before the first retry; doubles (default 1000)");
  number("--backoff-max", "backoff_max_ms", "MS", "at most so long (default 300000)");
  number("--retain", "retain_seconds", "S", "keep complete items so long (default: for ever)");
  either("--refuse-when-closed,!--reopen-when-closed", "refuse_when_closed",
         "items for a closed partition are refused instead of opening it");
  either("--seal,!--unseal", "sealed", "no item can be put any more");
}

void add_partition_put(CLI::App* parent, Run& run) {
  CLI::App* put = parent->add_subcommand("put", "Make a partition, or change what is given.");
  auto options = std::make_shared<PartitionPut>();
  put->add_option("PARTITION", options->partition, "its name")->required();
  add_partition_flags(put, options.get());
  put->add_option("--if-version", options->if_version, "only where it has this one; 0: only make")
      ->type_name("N");
  run_with(put, run, options, put_partition);
}

void add_partition_lists(CLI::App* parent, Run& run) {
  CLI::App* get = parent->add_subcommand("get", "One partition.");
  auto name = std::make_shared<std::string>();
  get->add_option("PARTITION", *name, "its name")->required();
  run_with(get, run, name, get_partition);

  CLI::App* list = parent->add_subcommand("list", "All partitions, by name.");
  auto status = std::make_shared<std::string>();
  list->add_option("--status", *status, "available, failed or complete")->type_name("STATUS");
  run_with(list, run, status, list_partitions);

  CLI::App* events = parent->add_subcommand("events", "What happened to a partition, in order.");
  auto after = std::make_shared<std::int64_t>(0);
  events->add_option("PARTITION", *name, "its name")->required();
  events->add_option("--after", *after, "begin behind this number")->type_name("NUMBER");
  events->callback([&run, name, after] {
    run = [name, after](Command c) { return list_partition_events(c, *name, *after); };
  });
}

void add_partition_changes(CLI::App* parent, Run& run) {
  using Function = net::Task<Result<int>> (*)(Command, PartitionNamed);
  const auto add = [&](const char* word, const char* help, Function function) {
    CLI::App* command = parent->add_subcommand(word, help);
    auto options = std::make_shared<PartitionNamed>();
    command->add_option("PARTITION", options->partition, "its name")->required();
    if (function == requeue_partition) {
      command->add_option("ITEM", options->item, "only this one");
    }
    command->add_option("--if-version", options->if_version, "only where it has this one")
        ->type_name("N");
    run_with(command, run, options, function);
  };
  add("seal", "No item can be put any more.", seal_partition);
  add("advance", "Open the next gate that has items, where none is left to do.", advance_partition);
  add("requeue", "Try failed items again, with all their retries.", requeue_partition);
  add("delete", "Delete a partition with all its items.", delete_partition);
}

void add_item_put(CLI::App* parent, Run& run) {
  CLI::App* put = parent->add_subcommand("put", "Put an item, or many (--lines).");
  auto options = std::make_shared<ItemPut>();
  put->add_option("PARTITION", options->partition, "where it goes; need not exist yet")->required();
  put->add_option("ITEM", options->item, "its name, unique in its partition");
  put->add_option("FILE", options->file, "its bytes; '-': standard input; without: none");
  put->add_option("--lines", options->lines,
                  "JSON lines {\"item\", \"gate\", \"data\" or \"text\", …}; '-': standard input")
      ->type_name("FILE");
  put->add_option("--gate", options->gate, "processed once all before it are (default 0)")
      ->type_name("N");
  put->add_option("--if-version", options->if_version, "change the item that has this version")
      ->type_name("N");
  put->add_option("--delay", options->delay_seconds, "not before so many seconds from now")
      ->type_name("S")
      ->check(CLI::NonNegativeNumber);
  put->add_option("--priority", options->priority, "higher ones first (default 0)")->type_name("N");
  put->add_option("--unique-key", options->unique_key, "at most one item anywhere has it")
      ->type_name("KEY");
  put->add_option("--limit-key", options->limit_key, "the limit of this key holds for it")
      ->type_name("KEY");
  run_with(put, run, options, put_item);
}

void add_item_others(CLI::App* parent, Run& run) {
  CLI::App* get = parent->add_subcommand("get", "One item.");
  auto named = std::make_shared<ItemNamed>();
  get->add_option("PARTITION", named->partition, "where it is")->required();
  get->add_option("ITEM", named->item, "its name")->required();
  get->add_flag("--data", named->data, "its bytes, as they are");
  run_with(get, run, named, get_item);

  CLI::App* remove = parent->add_subcommand("delete", "Delete an item that is not running.");
  remove->add_option("PARTITION", named->partition, "where it is")->required();
  remove->add_option("ITEM", named->item, "its name")->required();
  remove->add_option("--if-version", named->if_version, "only where it has this one")
      ->type_name("N");
  run_with(remove, run, named, delete_item);

  CLI::App* list = parent->add_subcommand("list", "Items of a partition, by name.");
  auto query = std::make_shared<ItemQuery>();
  list->add_option("PARTITION", query->partition, "where they are")->required();
  list->add_option("--status", query->status, "available, running, failed or complete")
      ->type_name("STATUS");
  list->add_option("--gate", query->gate, "at this gate")->type_name("N");
  list->add_option("--older-than", query->older_than_seconds, "not changed for so long")
      ->type_name("SECONDS");
  run_with(list, run, query, list_items);
}

}  // namespace

void add_partition_commands(CLI::App& app, Run& run) {
  CLI::App* partition =
      app.add_subcommand("partition", "Partitions of your own work, given to a handler.");
  partition->require_subcommand(1);
  partition->footer(
      "Examples:\n"
      "  quern partition put mail --handler http://127.0.0.1:9000/ --max-retries 3\n"
      "  quern partition list --status failed\n"
      "  quern partition requeue mail");
  add_partition_put(partition, run);
  add_partition_lists(partition, run);
  add_partition_changes(partition, run);
}

void add_item_commands(CLI::App& app, Run& run) {
  CLI::App* item = app.add_subcommand("item", "Items: the work in a partition.");
  item->require_subcommand(1);
  item->footer(
      "Examples:\n"
      "  quern item put mail letter-1 letter.json --gate 2\n"
      "  quern item put mail --lines letters.jsonl     # again: changes nothing\n"
      "  quern item list mail --status failed --json");
  add_item_put(item, run);
  add_item_others(item, run);
}

}  // namespace quern::app
