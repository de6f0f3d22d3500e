#include "crawl/messages.h"

#include <boost/json.hpp>

#include "crawl/service.h"
#include "queue/message.h"

namespace quern::crawl {
namespace {

namespace json = boost::json;
using queue::Outcome;

Outcome refused(std::string why) {
  Outcome outcome = Outcome::failed(std::move(why));
  outcome.no_retry = true;
  return outcome;
}

class Messages final : public queue::Processor {
 public:
  Messages(Service& service, net::Loop& loop) : service_(service), loop_(loop) {}

  void process(queue::Work work, queue::Answered answered) override {
    loop_.spawn("crawl.message", run(&service_, std::move(work), std::move(answered)));
  }

 private:
  static net::Task<> run(Service* service, queue::Work work, queue::Answered answered) {
    const std::string queue = work.partition_name.substr(work.partition_name.find_last_of(':') + 1);
    const Result<queue::Message> message = queue::parse_message(queue, work.item.data);
    if (!message.ok()) {
      answered(refused(message.error().message()));
      co_return;
    }
    const json::value body = json::parse(message->body);
    const auto text = [&body](std::string_view key) {
      const json::value* value = body.as_object().if_contains(key);
      return value == nullptr ? std::string() : std::string(value->as_string());
    };
    Service::Single single{.site = text("site"), .path = text("path")};
    const json::value* force = body.as_object().if_contains("force");
    single.force = force != nullptr && force->as_bool();
    single.whole = message->type == "index+crawl";
    single.want = message->type == "index" ? kIndex : kIndex | kCrawl;
    const Result<bool> done = co_await service->ask_for(std::move(single));
    if (done.ok()) {
      answered(Outcome::complete());
      co_return;
    }
    const Errc kind = done.error().kind();
    const bool final = kind == Errc::Invalid || kind == Errc::Conflict || kind == Errc::TooLarge;
    answered(final ? refused(done.error().message()) : Outcome::failed(done.error().message()));
  }

  Service& service_;
  net::Loop& loop_;
};

}  // namespace

std::shared_ptr<queue::Processor> make_message_processor(Service& service) {
  return std::make_shared<Messages>(service, service.loop());
}

}  // namespace quern::crawl
