// For tests: an OLE compound file in memory, with sectors of 512 bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "worker/tnef_maker.h"

namespace quern::worker {

class OleMaker {
 public:
  OleMaker() { entries_.push_back({"Root Entry", 5, {}, "", 0}); }

  std::size_t folder(const std::string& name, std::size_t parent = 0) {
    return add(name, 1, "", parent);
  }
  std::size_t stream(const std::string& name, const std::string& bytes, std::size_t parent = 0) {
    return add(name, 2, bytes, parent);
  }

  // Its children are those of the other, as no good file has them.
  void link(std::size_t folder, std::size_t other) { entries_[folder].link = other + 1; }

  std::string bytes() const {
    std::vector<std::string> sectors;
    std::vector<std::uint32_t> table;
    const auto store = [&](std::string data) {
      if (data.empty()) return kEnd;
      const auto start = static_cast<std::uint32_t>(sectors.size());
      data.resize((data.size() + 511) / 512 * 512, '\0');
      for (std::size_t at = 0; at < data.size(); at += 512) {
        sectors.push_back(data.substr(at, 512));
        table.push_back(static_cast<std::uint32_t>(sectors.size()));
      }
      table.back() = kEnd;
      return start;
    };
    std::string small;
    std::string small_table;
    std::vector<std::uint32_t> starts;
    for (const Entry& entry : entries_) {
      if (entry.bytes.size() >= 4096) {
        starts.push_back(store(entry.bytes));
        continue;
      }
      starts.push_back(static_cast<std::uint32_t>(small.size() / 64));
      const std::size_t count = (entry.bytes.size() + 63) / 64;
      for (std::size_t i = 1; i <= count; ++i) {
        small_table += little(i == count ? kEnd : starts.back() + i, 4);
      }
      small += entry.bytes + std::string(count * 64 - entry.bytes.size(), '\0');
    }
    starts[0] = store(small);
    small_table.resize((small_table.size() + 511) / 512 * 512, '\xFF');
    const std::uint32_t small_at = store(small_table);
    const std::uint32_t directory = store(directory_bytes(starts, small.size()));
    return file(sectors, table, directory, small_at);
  }

 private:
  static constexpr std::uint32_t kEnd = 0xFFFFFFFE;
  static constexpr std::uint32_t kFree = 0xFFFFFFFF;
  struct Entry {
    std::string name;
    char kind;
    std::vector<std::size_t> children;
    std::string bytes;
    std::size_t link = 0;  // 0: none
  };

  std::size_t add(const std::string& name, char kind, const std::string& bytes,
                  std::size_t parent) {
    entries_.push_back({name, kind, {}, bytes, 0});
    entries_[parent].children.push_back(entries_.size() - 1);
    return entries_.size() - 1;
  }

  // Brothers hang to the right of one another.
  std::string directory_bytes(const std::vector<std::uint32_t>& starts, std::size_t small) const {
    std::vector<std::uint32_t> right(entries_.size(), kFree);
    for (const Entry& entry : entries_) {
      for (std::size_t i = 1; i < entry.children.size(); ++i) {
        right[entry.children[i - 1]] = static_cast<std::uint32_t>(entry.children[i]);
      }
    }
    std::string all;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const Entry& entry = entries_[i];
      std::string name;
      for (const char c : entry.name) name += std::string{c, '\0'};
      const Entry& family = entry.link == 0 ? entry : entries_[entry.link - 1];
      const std::size_t child = family.children.empty() ? kFree : family.children.front();
      std::string bytes = name + std::string(64 - name.size(), '\0');
      bytes += little(name.size() + 2, 2) + entry.kind + '\1' + little(kFree, 4) +
               little(right[i], 4) + little(child, 4) + std::string(36, '\0') +
               little(starts[i], 4) + little(i == 0 ? small : entry.bytes.size(), 8);
      all += bytes;
    }
    return all;
  }

  static std::string file(std::vector<std::string> sectors, std::vector<std::uint32_t> table,
                          std::uint32_t directory, std::uint32_t small_at) {
    // The table has an entry for its own sectors too.
    const std::size_t count = table.size() / 127 + 1;
    std::string homes;
    for (std::size_t i = 0; i < count; ++i) {
      homes += little(sectors.size() + i, 4);
      table.push_back(0xFFFFFFFD);
    }
    std::string numbers;
    for (const std::uint32_t number : table) numbers += little(number, 4);
    numbers.resize(count * 512, '\xFF');
    homes.resize(109 * 4, '\xFF');
    std::string head = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1" + std::string(16, '\0');
    head += little(0x3E, 2) + little(3, 2) + little(0xFFFE, 2) + little(9, 2) + little(6, 2);
    head += std::string(6, '\0') + little(0, 4) + little(count, 4) + little(directory, 4) +
            little(0, 4) + little(4096, 4) + little(small_at, 4) + little(1, 4) + little(kEnd, 4) +
            little(0, 4) + homes;
    std::string all = head;
    for (const std::string& sector : sectors) all += sector;
    return all + numbers;
  }

  std::vector<Entry> entries_;
};

}  // namespace quern::worker
