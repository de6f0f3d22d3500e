// For tests: winmail.dat made of properties and attachments, in memory.
#pragma once

#include <string>

namespace quern::worker {

inline std::string little(std::uint64_t number, std::size_t width) {
  std::string bytes;
  for (std::size_t i = 0; i < width; ++i) bytes += static_cast<char>(number >> (8 * i));
  return bytes;
}

class TnefMaker {
 public:
  TnefMaker& attribute(char level, std::uint32_t id, const std::string& value) {
    std::uint16_t sum = 0;
    for (const char c : value)
      sum = static_cast<std::uint16_t>(sum + static_cast<unsigned char>(c));
    bytes_ += level + little(id, 4) + little(value.size(), 4) + value + little(sum, 2);
    return *this;
  }
  // MAPI properties of the message or, at level 2, of the attachment.
  TnefMaker& properties(char level, const std::string& list, std::uint32_t count) {
    return attribute(level, level == 1 ? 0x00069003 : 0x00069005, little(count, 4) + list);
  }
  TnefMaker& attachment(const std::string& title, const std::string& data) {
    attribute(2, 0x00069002, std::string(14, '\0'));
    attribute(2, 0x00018010, title + '\0');
    return attribute(2, 0x0006800F, data);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_ = little(0x223E9F78, 4) + little(1, 2);
};

// A property whose value has a length: text of 8 bits (0x1E), of 16 (0x1F), bytes (0x102).
inline std::string tnef_property(std::uint16_t id, std::uint16_t type, const std::string& value) {
  return little(type, 2) + little(id, 2) + little(1, 4) + little(value.size(), 4) + value +
         std::string((4 - value.size() % 4) % 4, '\0');
}

}  // namespace quern::worker
