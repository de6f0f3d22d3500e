#include <bit>
#include <boost/json.hpp>
#include <charconv>

#include "search/group.h"

namespace quern::search {
namespace {

namespace json = boost::json;

Error odd(std::string_view what) {
  return Error{Errc::Corrupt, std::string("a searcher's answer is not ours: ") + std::string(what)};
}

// Reads members of an object; what is missing or of another type is noted.
class Members {
 public:
  explicit Members(const json::value& value) : object_(value.if_object()) {}

  std::int64_t number(std::string_view name) {
    const json::value* value = find(name);
    if (value == nullptr || !value->is_int64()) return bad(), 0;
    return value->get_int64();
  }
  std::string text(std::string_view name) {
    const json::value* value = find(name);
    if (value == nullptr || !value->is_string()) return bad(), "";
    return std::string(value->get_string());
  }
  bool flag(std::string_view name) {
    const json::value* value = find(name);
    if (value == nullptr || !value->is_bool()) return bad(), false;
    return value->get_bool();
  }
  const json::object& object(std::string_view name) {
    static const json::object none;
    const json::value* value = find(name);
    if (value == nullptr || !value->is_object()) return bad(), none;
    return value->get_object();
  }
  const json::array& array(std::string_view name) {
    static const json::array none;
    const json::value* value = find(name);
    if (value == nullptr || !value->is_array()) return bad(), none;
    return value->get_array();
  }
  bool ok() const { return object_ != nullptr && !bad_; }
  void bad() { bad_ = true; }

 private:
  const json::value* find(std::string_view name) const {
    return object_ == nullptr ? nullptr : object_->if_contains(name);
  }
  const json::object* object_;
  bool bad_ = false;
};

template <class Key>
json::object counts_json(const std::map<Key, std::int64_t>& counts) {
  json::object object;
  for (const auto& [key, count] : counts) {
    if constexpr (std::is_same_v<Key, std::string>) {
      object[key] = count;
    } else {
      object[std::to_string(key)] = count;
    }
  }
  return object;
}

template <class Key>
void read_counts(Members& members, std::string_view name, std::map<Key, std::int64_t>& counts) {
  for (const auto& [key, count] : members.object(name)) {
    if (!count.is_int64()) return members.bad();
    if constexpr (std::is_same_v<Key, std::string>) {
      counts[std::string(key)] = count.get_int64();
    } else {
      Key number = 0;
      const std::string_view text = key;
      std::from_chars(text.data(), text.data() + text.size(), number);
      counts[number] = count.get_int64();
    }
  }
}

json::object hit_json(const GroupHit& one) {
  const Hit& hit = one.hit;
  return {{"place", to_json(one.place)},
          {"collection", one.collection},
          {"file", hit.file},
          {"title", hit.title},
          {"filename", hit.filename},
          {"url", hit.url},
          {"type", hit.type},
          {"day", hit.day},
          {"page", hit.page},
          {"snippet", hit.snippet}};
}

Result<GroupHit> hit_from(const json::value& value) {
  Members members(value);
  GroupHit one;
  const json::object* object = value.if_object();
  if (object == nullptr || !object->contains("place")) return odd("a hit");
  TRY_ASSIGN(one.place, place_from(object->at("place")));
  one.collection = members.text("collection");
  one.hit.file = members.number("file");
  one.hit.title = members.text("title");
  one.hit.filename = members.text("filename");
  one.hit.url = members.text("url");
  one.hit.type = members.text("type");
  one.hit.day = static_cast<std::int32_t>(members.number("day"));
  one.hit.page = members.number("page");
  one.hit.snippet = members.text("snippet");
  if (!members.ok()) return odd("a hit");
  return one;
}

}  // namespace

json::object to_json(const Frequencies& frequencies) {
  return {{"documents", frequencies.documents},
          {"length", frequencies.length},
          {"tokens", counts_json(frequencies.by_token)}};
}

Result<Frequencies> frequencies_from(const json::value& value) {
  Members members(value);
  Frequencies frequencies;
  frequencies.documents = members.number("documents");
  frequencies.length = members.number("length");
  read_counts(members, "tokens", frequencies.by_token);
  if (!members.ok()) return odd("its frequencies");
  return frequencies;
}

// The bits of the score: what is compared must not be rounded on the way.
json::object to_json(const Place& place) {
  return {{"score", std::bit_cast<std::int64_t>(place.score)},
          {"day", place.day},
          {"tie", static_cast<std::int64_t>(place.tie)},
          {"file", place.file}};
}

Result<Place> place_from(const json::value& value) {
  Members members(value);
  Place place;
  place.score = std::bit_cast<double>(members.number("score"));
  place.day = static_cast<std::int32_t>(members.number("day"));
  place.tie = static_cast<std::uint32_t>(members.number("tie"));
  place.file = members.number("file");
  if (!members.ok()) return odd("a place");
  return place;
}

json::object to_json(const GroupAnswer& answer) {
  json::array hits;
  for (const GroupHit& hit : answer.hits) hits.push_back(hit_json(hit));
  return {{"hits", std::move(hits)},
          {"total", answer.total},
          {"exact", answer.exact},
          {"types", counts_json(answer.types)},
          {"collections", counts_json(answer.collections)},
          {"years", counts_json(answer.years)}};
}

Result<GroupAnswer> answer_from(const json::value& value) {
  Members members(value);
  GroupAnswer answer;
  for (const json::value& one : members.array("hits")) {
    TRY_ASSIGN(GroupHit hit, hit_from(one));
    answer.hits.push_back(std::move(hit));
  }
  answer.total = members.number("total");
  answer.exact = members.flag("exact");
  read_counts(members, "types", answer.types);
  read_counts(members, "collections", answer.collections);
  read_counts(members, "years", answer.years);
  if (!members.ok()) return odd("its sums");
  return answer;
}

}  // namespace quern::search
