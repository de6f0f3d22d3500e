#include "search/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "queue/await.h"
#include "queue/message.h"

namespace quern::search {
namespace {

using store::Tx;

// Between looks whether all is published, where another server packs.
constexpr std::int64_t kLookMs = 100;

}  // namespace

Service::Service(Parts parts, ServiceOptions options)
    : parts_(std::move(parts)), options_(options), published_(parts_.loop) {}

Result<std::unique_ptr<Service>> Service::open(Parts parts, ServiceOptions options) {
  std::unique_ptr<Service> service(new Service(std::move(parts), options));
  Parts& p = service->parts_;
  TRY_ASSIGN(service->folder_, PackFolder::open(p.folder, p.owner));
  service->source_ = std::make_unique<PackSource>(*service->folder_, p.readers, p.blobs);
  service->catalog_ =
      std::make_unique<Catalog>(p.loop, p.readers, *service->source_, options.catalog);
  service->finder_ = std::make_unique<Finder>(p.loop, *service->catalog_, options.finder);
  return service;
}

Service::~Service() {
  watch_.reset();
  if (packer_) packer_->stop();
  if (orchestrator_) orchestrator_->stop();
  pool_.stop();
  finder_->stop();
  catalog_->stop();
}

void Service::add_processors(queue::Processors& processors) {
  Packer::Events events;
  events.published = [this](const std::string& collection, const PackReport& report) {
    catalog_->poke();
    published_.notify_all();
    if (parts_.published) parts_.published(collection, report);
  };
  packer_ = std::make_shared<Packer>(
      parts_.loop, Packing::Parts{parts_.writer, parts_.readers, parts_.blobs, *source_},
      options_.packing, std::move(events));
  orchestrator_ = std::make_shared<Orchestrator>(
      Orchestrator::Parts{parts_.loop, parts_.writer, parts_.readers, [this] { catalog_->poke(); }},
      options_.orchestrator);
  watch_ =
      std::make_unique<ChangeWatch>(ChangeWatch::Parts{parts_.loop, parts_.writer, parts_.readers,
                                                       parts_.poke, parts_.poke_timers},
                                    options_.watch);
  processors[queue::kind_of_queue("PACK")] = packer_;
  processors[queue::kind_of_queue("ORCH")] = orchestrator_;
}

void Service::start() {
  watch_->start();
}

void Service::stop_soon() {
  if (packer_) packer_->cancel();
}

net::Task<> Service::stop() {
  if (watch_) co_await watch_->stop();
  if (packer_) packer_->stop();
  if (orchestrator_) orchestrator_->stop();
  pool_.stop();
}

void Service::documents_changed() {
  catalog_->poke();  // what is hidden may be another
  if (watch_) watch_->poke();
}

void Service::jobs_deleted(const std::vector<tree::JobId>& jobs) {
  catalog_->hide(jobs);
  documents_changed();
}

net::Task<Result<bool>> Service::pack_changes(std::vector<std::string> collections,
                                              net::Instant deadline) {
  using tree::ChangedCollection;
  auto look = [](Tx& tx) { return tree::list_changed(tx); };
  CO_TRY_ASSIGN(std::vector<ChangedCollection> changed,
                co_await queue::read(parts_.loop, parts_.readers, look));
  std::erase_if(changed, [&](const ChangedCollection& one) {
    const bool named =
        std::find(collections.begin(), collections.end(), one.name) != collections.end();
    return one.name.empty() || (!collections.empty() && !named);
  });
  if (changed.empty()) co_return true;
  if (!works()) co_return false;
  std::map<tree::CollectionId, std::int64_t> wanted;
  for (const ChangedCollection& one : changed) {
    wanted[one.id] = one.last;
    const std::string key = fmt::format("now:{}:{}", one.id, one.last);
    auto post = [writer = &parts_.writer, readers = &parts_.readers, name = one.name, key] {
      return post_pack(*writer, *readers, name, false, key);
    };
    CO_TRY_ASSIGN(const queue::PartitionId partition,
                  co_await queue::offload(parts_.loop, pool_, std::move(post)));
    parts_.poke(partition);
  }
  while (net::in_ms(0) < deadline) {
    CO_TRY_ASSIGN(const std::vector<ChangedCollection> now,
                  co_await queue::read(parts_.loop, parts_.readers, look));
    const bool left = std::any_of(now.begin(), now.end(), [&](const ChangedCollection& one) {
      const auto asked = wanted.find(one.id);
      return asked != wanted.end() && one.first <= asked->second;
    });
    if (!left) co_return true;
    co_await published_.wait(std::min(deadline, net::in_ms(kLookMs)));
  }
  co_return false;
}

}  // namespace quern::search
