#include "crash/crawl_scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "crash/resumes.h"
#include "net/target.h"
#include "store/database.h"
#include "web/archive.h"
#include "web/warc_message.h"

namespace quern::crash {
namespace {

namespace json = boost::json;
using support::Environment;
using support::Output;
using support::Program;
using support::ProgramOptions;
using support::Ran;
using support::SiteRequest;

constexpr char kNever[] = "3600000";
constexpr std::chrono::milliseconds kCrawlPatience{120'000};
constexpr const char* kQuestions[] = {"word0", "word3", "word7", "word8", "redirectto301"};
constexpr const char* kLists[] = {"documents", "errors"};

Environment environment_of(const std::filesystem::path& data, const std::string& database) {
  Environment environment{{"QUERN_DATA", data.string()},  {"QUERN_SEARCH_SETTLE", kNever},
                          {"QUERN_SEARCH_DELAY", kNever}, {"QUERN_FREE_MIN", "0"},
                          {"QUERN_STEPS", "Page=1"},      {"QUERN_LOG_LEVEL", "warn"}};
  if (database.empty()) return environment;
  environment.emplace_back("QUERN_DB", database);
  // Whoever comes next waits for the dead one's lease.
  environment.emplace_back("QUERN_LEASE", "1");
  environment.emplace_back("QUERN_SCAN", "50");
  return environment;
}

// Two equal runs may come to their lines in another order.
std::string sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream from(text);
  for (std::string line; std::getline(from, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  std::string sorted;
  for (const std::string& line : lines) sorted += line + "\n";
  return sorted;
}

// A server that only answers.
class Reader {
 public:
  static Result<std::unique_ptr<Reader>> start(Environment environment) {
    environment.emplace_back("QUERN_STEPS", "none");
    std::unique_ptr<Reader> reader(new Reader);
    TRY_ASSIGN(reader->program_,
               Program::start({"quern", {"serve", "--listen", "127.0.0.1:0"}, environment, {}}));
    TRY_ASSIGN(const std::string line,
               reader->program_->wait_for_line(Output::Standard, "http://"));
    reader->address_ = line.substr(line.find("http://"));
    reader->api_ = std::make_unique<Api>(reader->address_);
    return reader;
  }
  Result<json::object> load(const std::string& target) { return api_->load(target); }
  Result<std::string> text(const std::string& target) {
    TRY_ASSIGN(net::Response answer, api_->send(net::Method::Get, target));
    if (answer.status != 200) return Error{Errc::Internal, target + ": " + answer.body};
    return std::move(answer.body);
  }
  const std::string& address() const { return address_; }
  Result<> stop() {
    TRY(program_->signal(SIGTERM));
    TRY(program_->wait());
    return {};
  }

 private:
  Reader() = default;
  std::unique_ptr<Program> program_;
  std::string address_;
  std::unique_ptr<Api> api_;
};

// Crawls and their pages, without ids and times.
Result<std::string> crawls_of(Reader& reader) {
  std::string told;
  TRY_ASSIGN(const json::object crawls, reader.load("/api/v1/crawls"));
  for (const json::value& crawl : crawls.at("items").as_array()) {
    told += fmt::format("crawl {} {} {} bytes\n", json::serialize(crawl.at("pages")),
                        json::serialize(crawl.at("state")),
                        crawl.at("fetched_bytes").to_number<std::int64_t>());
    TRY_ASSIGN(const json::object pages,
               reader.load(fmt::format("/api/v1/crawls/{}/pages?limit=1000",
                                       crawl.at("job").to_number<std::int64_t>())));
    std::string lines;
    for (json::value page : pages.at("items").as_array()) {
      for (const char* varies : {"page", "file", "depth", "fetched_us", "next_us"}) {
        page.as_object().erase(varies);
      }
      lines += json::serialize(page) + "\n";
    }
    told += sorted_lines(lines);
  }
  return told;
}

Result<std::string> answers_of(Reader& reader) {
  std::string told;
  for (const char* question : kQuestions) {
    std::string target = "/api/v1/search?fresh=5000&limit=100";
    net::append_query(target, "q", question);
    TRY_ASSIGN(const json::object answer, reader.load(target));
    told += fmt::format("{}: {}", question, answer.at("total").as_int64());
    for (const auto& hit : answer.at("hits").as_array()) {
      told += " " + std::string(hit.at("filename").as_string());
    }
    told += answer.at("notes").as_array().empty() ? "\n" : " (not all is packed)\n";
  }
  return told;
}

Result<> read_warc(const std::filesystem::path& file, WarcFolder& all) {
  const std::string name = file.filename().string();
  TRY_ASSIGN(const std::unique_ptr<web::WarcReader> reader, web::Archive::read_at(file, 0));
  while (true) {
    Result<std::optional<web::WarcRecord>> record = reader->next();
    if (record.ok() && !*record) return {};
    Result<web::RecordCheck> checked = record.ok() ? web::verify_record(*reader, **record)
                                                   : Result<web::RecordCheck>(record.error());
    if (!checked.ok()) {
      all.faults += name + ": " + checked.error().message() + "\n";
      return {};
    }
    const web::WarcRecord& one = **record;
    const bool block = checked->block == web::DigestState::Right || one.type == "warcinfo";
    if (!block || checked->payload == web::DigestState::Wrong) {
      all.faults += fmt::format("{} at {}: {} has a wrong digest\n", name, one.offset, one.type);
    }
    if (one.type == "request") ++all.requests;
    if (one.type == "response" || one.type == "revisit") {
      all.answers[fmt::format("{} {}", name, one.offset)] = one.url;
    }
  }
}

}  // namespace

Result<WarcFolder> read_warcs(const std::filesystem::path& folder) {
  WarcFolder all;
  std::error_code failed;
  if (!std::filesystem::exists(folder)) return all;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".warc.gz")) {
      TRY(read_warc(entry.path(), all));
    } else {
      all.faults += name + " is no archive\n";
    }
  }
  if (failed) return Error{Errc::Internal, failed.message()};
  return all;
}

CrawlScene::CrawlScene(std::filesystem::path folder, Start start, const std::string& database)
    : folder_(std::move(folder)),
      start_(std::move(start)),
      database_(database.empty() ? "sqlite:" + (data() / "quern.db").string() : database),
      environment_(environment_of(data(), database)) {
  const Environment more = site_.environment();
  environment_.insert(environment_.end(), more.begin(), more.end());
}

void CrawlScene::set_site(int number) {
  site_.set("plain.test", "pages", number == 1 ? "9" : "7");
}

Result<> CrawlScene::prepare() const {
  TRY(run({"jobs"}));
  return {};
}

Result<std::string> CrawlScene::run(std::vector<std::string> arguments) const {
  const ProgramOptions options{"quern", std::move(arguments), environment_, {}};
  TRY_ASSIGN(const Ran ran, support::run_program(options));
  if (!ran.status.exited_with(0)) return Error{Errc::Internal, ran.standard_error};
  return ran.standard_output;
}

Result<std::int64_t> CrawlScene::ask_store(const store::Sql& question) const {
  const auto ask = [&]() -> Result<std::int64_t> {
    TRY_ASSIGN(const store::DatabaseUrl url, store::DatabaseUrl::parse(database_));
    TRY_ASSIGN(const std::unique_ptr<store::Database> database, store::Database::open(url, {}));
    TRY_ASSIGN(const auto session, database->connect_reader());
    TRY_ASSIGN(const store::Rows rows, session->run(question, {}));
    return rows[0].get<std::int64_t>(0);
  };
  // Whoever opens it just now, or mends it after a death, has it alone for a moment.
  Result<std::int64_t> answer = ask();
  (void)eventually([&] { return answer.ok() || (answer = ask()).ok(); });
  return answer;
}

Result<bool> CrawlScene::is_fetched(int number) const {
  static constexpr store::Sql kFetched{
      "SELECT count(*) FROM crawl AS c WHERE c.seeded AND"
      " (SELECT coalesce(sum(s.open), 0) FROM crawl_site AS s WHERE s.job = c.job) = 0"};
  TRY_ASSIGN(const std::int64_t fetched, ask_store(kFetched));
  return fetched == number;
}

Result<> CrawlScene::end_crawls() const {
  TRY_ASSIGN(const std::unique_ptr<Reader> server, Reader::start(environment_));
  Result<json::object> crawls = json::object();
  const bool ended = eventually([&] {
    crawls = server->load("/api/v1/crawls");
    if (!crawls.ok()) return true;
    return crawls->at("items").at(0).at("state").as_string() != "running";
  });
  if (!crawls.ok()) return crawls.error();
  if (!ended) return Error{Errc::Timeout, "a crawl without open pages does not end"};
  return server->stop();
}

Result<bool> CrawlScene::has_died(const Program& program, const io::ExitStatus& status) {
  if (status.exited_with(0)) return false;
  if (!status.killed_by(SIGKILL)) {
    return Error{Errc::Internal, status.text() + ": " + program.text(Output::Error)};
  }
  // What was archived and not noted is archived again; without a name before it, it stays.
  if (!asks_) ++repeated_;
  TRY(run({"jobs"}));  // whoever looks mends the archive
  TRY_ASSIGN(const WarcFolder warcs, read_warcs(data() / "warcs"));
  story_ += warcs.faults;
  if (asks_ && warcs.requests != warcs.answers.size()) {
    story_ += fmt::format("{} requests, {} answers\n", warcs.requests, warcs.answers.size());
  }
  return true;
}

Result<> CrawlScene::crawl(int number, const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"crawl",
                                     "http://plain.test/",
                                     "http://plain.test/s0/p8",
                                     "http://redirect.test/r301",
                                     "--delay",
                                     kGap,
                                     "--allow-private",
                                     "*"};
  if (number > 1) arguments.emplace_back("--force");
  arguments.insert(arguments.end(), more.begin(), more.end());
  const ProgramOptions options{"quern", arguments, environment_, {}};
  int deaths = 0;
  while (true) {
    TRY_ASSIGN(const std::shared_ptr<Program> program, start_(options));
    TRY_ASSIGN(const io::ExitStatus status, program->wait(kCrawlPatience));
    TRY_ASSIGN(const bool died, has_died(*program, status));
    if (!died) break;
    ++deaths;
    // The same command would begin another crawl where the one that died ends before it is asked.
    TRY_ASSIGN(const bool fetched, is_fetched(number));
    if (!fetched) continue;
    TRY(end_crawls());
    break;
  }
  judge_requests(number, deaths);
  return {};
}

Result<> CrawlScene::make_due() const {
  static constexpr store::Sql kDue{"UPDATE site_plan SET next_us = 1 WHERE next_us > 0"};
  TRY_ASSIGN(const store::DatabaseUrl url, store::DatabaseUrl::parse(database_));
  TRY_ASSIGN(const std::unique_ptr<store::Database> database, store::Database::open(url, {}));
  TRY_ASSIGN(const auto session, database->connect_writer());
  TRY(session->run(kDue, {}));
  return {};
}

Result<std::string> CrawlScene::plans() const {
  static constexpr store::Sql kAll{"SELECT count(*) FROM site_plan"};
  static constexpr store::Sql kAhead{
      "SELECT count(*) FROM site_plan AS p WHERE p.next_us > p.period_us AND p.next_us <="
      " p.period_us + (SELECT max(fetched_us) FROM page) + 600000000 AND p.next_us >="
      " p.period_us + (SELECT max(fetched_us) FROM page)"};
  TRY_ASSIGN(const std::int64_t all, ask_store(kAll));
  TRY_ASSIGN(const std::int64_t ahead, ask_store(kAhead));
  return fmt::format("{} plans, {} of them due in a period\n", all, ahead);
}

Result<> CrawlScene::crawl_by_plan(int number) {
  static constexpr store::Sql kEnded{"SELECT count(*) FROM crawl AS c WHERE c.ended"};
  const ProgramOptions options{"quern", {"serve", "--listen", "127.0.0.1:0"}, environment_, {}};
  int deaths = 0;
  while (true) {
    TRY_ASSIGN(const std::shared_ptr<Program> program, start_(options));
    // From then on it can be asked to stop; it may have died before.
    const bool listens = program->wait_for_line(Output::Standard, "http://").ok();
    Result<std::int64_t> ended = 0;
    const bool came = !listens || eventually([&] {
      ended = ask_store(kEnded);
      return !ended.ok() || *ended >= number || program->has_ended();
    });
    if (!ended.ok()) return ended.error();
    if (!came) return Error{Errc::Timeout, "the plan's crawl does not end"};
    if (listens) (void)program->signal(SIGTERM);  // unless it is dead
    TRY_ASSIGN(const io::ExitStatus status, program->wait(kCrawlPatience));
    TRY_ASSIGN(const bool died, has_died(*program, status));
    if (!died) break;
    ++deaths;
  }
  judge_requests(number, deaths);
  return {};
}

Result<> CrawlScene::remove(std::int64_t job) {
  static constexpr store::Sql kJobs{"SELECT count(*) FROM job"};
  static constexpr store::Sql kKept{"SELECT count(*) FROM job WHERE NOT deleting"};
  TRY_ASSIGN(const std::int64_t before, ask_store(kJobs));
  const ProgramOptions options{"quern", {"delete", std::to_string(job)}, environment_, {}};
  while (true) {
    TRY_ASSIGN(const std::shared_ptr<Program> program, start_(options));
    TRY_ASSIGN(const io::ExitStatus status, program->wait(kCrawlPatience));
    TRY_ASSIGN(const bool died, has_died(*program, status));
    if (!died) return {};
    TRY_ASSIGN(const std::int64_t kept, ask_store(kKept));
    if (kept == before) continue;
    // A server that was ordered nothing goes on with it.
    TRY_ASSIGN(const std::unique_ptr<Reader> server, Reader::start(environment_));
    Result<std::int64_t> left = before;
    const bool went = eventually([&] {
      left = ask_store(kJobs);
      return !left.ok() || *left < before;
    });
    TRY(server->stop());
    if (!left.ok()) return left.error();
    if (went) return {};
    return Error{Errc::Timeout, "a job that is being removed stays"};
  }
}

Result<> CrawlScene::read_back(const std::filesystem::path& file) {
  asks_ = false;
  const ProgramOptions options{"quern", {"crawl", "--from-warc", file.string()}, environment_, {}};
  while (true) {
    TRY_ASSIGN(const std::shared_ptr<Program> program, start_(options));
    TRY_ASSIGN(const io::ExitStatus status, program->wait(kCrawlPatience));
    TRY_ASSIGN(const bool died, has_died(*program, status));
    if (!died) return {};
    TRY_ASSIGN(const bool fetched, is_fetched(1));
    if (fetched) return end_crawls();
  }
}

void CrawlScene::judge_requests(int number, int deaths) {
  std::set<std::string> asked;
  std::map<std::string, int> times;
  std::map<std::string, int> again;  // by host
  for (const SiteRequest& request : site_.log(seen_)) {
    seen_ = std::max(seen_, request.number + 1);
    const std::string target = request.host + " " + request.target;
    if (++times[target] > 1) ++again[request.host];
    // Who died before the answer came asks again.
    if (request.status != 0) asked.insert(fmt::format("{} {}", target, request.status));
  }
  story_ += fmt::format("asked by crawl {}:\n", number);
  for (const std::string& line : asked) story_ += line + "\n";
  for (const auto& [host, count] : again) {
    repeated_ += static_cast<std::size_t>(count);
    if (count > deaths) {
      story_ += fmt::format("{} was asked {} times for what it had answered, in {} deaths\n", host,
                            count, deaths);
    }
  }
}

void CrawlScene::judge_gaps() {
  for (const char* host : {"plain.test", "redirect.test"}) {
    const std::optional<std::int64_t> gap_us = site_.shortest_gap_us(host);
    if (gap_us && *gap_us < kGapUs) {
      story_ += fmt::format("{} was asked twice within {} us\n", host, *gap_us);
    }
  }
}

// The index without what differs between equal runs; each of its lines is a record of the archive.
Result<std::string> CrawlScene::cdxj(const std::string& text) const {
  TRY_ASSIGN(const WarcFolder warcs, read_warcs(data() / "warcs"));
  std::string told;
  std::size_t captures = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line); ++captures) {
    TRY_ASSIGN(const web::CdxjLine one, web::parse_cdxj(line));
    told += fmt::format("{} {} {} {} {}\n", one.surt, one.url, one.mime, one.status, one.digest);
    const auto record = warcs.answers.find(fmt::format("{} {}", one.filename, one.offset));
    if (record == warcs.answers.end() || record->second != one.url) {
      told += "no record: " + line + "\n";
    }
  }
  // A site whose record was noted last keeps the bytes before it, though their writer died before
  // it noted them: what it had asked for is asked for again.
  if (warcs.answers.size() > captures + repeated_) {
    told += fmt::format("{} records of {} captures\n", warcs.answers.size(), captures);
  }
  if (asks_ && warcs.requests != warcs.answers.size()) {
    told += fmt::format("{} requests, {} answers\n", warcs.requests, warcs.answers.size());
  }
  return sorted_lines(told) + warcs.faults;
}

Result<std::string> CrawlScene::outcome() {
  judge_gaps();
  TRY_ASSIGN(const std::unique_ptr<Reader> reader, Reader::start(environment_));
  TRY_ASSIGN(const std::string answers, answers_of(*reader));
  std::string lists;
  for (const char* list : kLists) {
    std::vector<std::string> arguments{list, "--json", "--no-ids", "--server", reader->address()};
    if (std::string_view(list) == "documents") arguments.emplace_back("--text");
    TRY_ASSIGN(const std::string told, run(arguments));
    lists += fmt::format("{}:\n{}", list, sorted_lines(told));
  }
  TRY_ASSIGN(const std::string crawls, crawls_of(*reader));
  TRY_ASSIGN(const std::string index, reader->text("/api/v1/collections/default/cdxj?limit=1000"));
  TRY_ASSIGN(const std::string captures, cdxj(index));
  TRY_ASSIGN(const std::string checked, reader->text("/api/v1/check"));
  TRY(reader->stop());
  std::error_code failed;
  const bool spooled = !std::filesystem::is_empty(data() / "spool", failed);
  return story_ + answers + lists + crawls + "captures:\n" + captures + "check: " + checked +
         (spooled ? "\nsomething was left in the spool\n" : "\n");
}

}  // namespace quern::crash
