// HtmlTree: a web page as gumbo reads it, with HTML5's rules for whatever people write.
//
// Guarantee: a page that is built to take for ever ends, and its depth does not matter. How: gumbo
// gets its memory from an arena of ours, which is given back at once, and leaves by a jump out of
// it when its time is up; walking needs no recursion.
#pragma once

#include <gumbo.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace quern::worker {

// CPU time for one page.
inline constexpr std::int64_t kHtmlParseMs = 20'000;

class HtmlArena;

class HtmlTree {
 public:
  // UTF-8, which must live longer. Nothing where it takes too long.
  static std::optional<HtmlTree> parse(std::string_view html, std::int64_t cpu_ms = kHtmlParseMs);
  HtmlTree(HtmlTree&&) noexcept;
  HtmlTree& operator=(HtmlTree&&) noexcept;
  ~HtmlTree();

  const GumboNode* root() const { return root_; }

 private:
  HtmlTree();

  std::unique_ptr<HtmlArena> arena_;
  const GumboNode* root_ = nullptr;
};

// Goes over all nodes in their order: enter() for each, and where it says true its children, then
// leave().
template <typename Visitor>
void walk(const GumboNode* root, Visitor& visitor) {
  const GumboNode* node = root;
  while (node != nullptr) {
    const bool element = node->type == GUMBO_NODE_ELEMENT || node->type == GUMBO_NODE_TEMPLATE;
    const bool inside = visitor.enter(*node);
    if (inside && element && node->v.element.children.length > 0) {
      node = static_cast<const GumboNode*>(node->v.element.children.data[0]);
      continue;
    }
    if (inside) visitor.leave(*node);
    for (;;) {
      if (node == root) return;
      const GumboNode* const parent = node->parent;
      const GumboVector& siblings = parent->v.element.children;
      if (node->index_within_parent + 1 < siblings.length) {
        node = static_cast<const GumboNode*>(siblings.data[node->index_within_parent + 1]);
        break;
      }
      node = parent;
      visitor.leave(*node);
    }
  }
}

// "" where it has none.
std::string_view attribute_of(const GumboElement& element, const char* name);

}  // namespace quern::worker
