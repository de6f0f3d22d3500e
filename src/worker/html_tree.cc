#include "worker/html_tree.h"

#include <csetjmp>
#include <cstring>
#include <vector>

#include "worker/cpu_alarm.h"

namespace quern::worker {

// Memory that is only ever given back as a whole.
class HtmlArena {
 public:
  static void* take(void* arena, std::size_t bytes) {
    return static_cast<HtmlArena*>(arena)->take(bytes);
  }
  static void give_back(void* /*arena*/, void* /*memory*/) {}

  std::jmp_buf late{};
  int is_late = 0;

 private:
  static constexpr std::size_t kPieceBytes = 1 << 20;

  void* take(std::size_t bytes) {
    if (*static_cast<volatile int*>(&is_late) != 0) std::longjmp(late, 1);
    bytes = (bytes + 15) & ~std::size_t{15};
    if (bytes > kPieceBytes / 4) return new_piece(bytes);
    if (pieces_.empty() || bytes > left_) {
      next_ = new_piece(kPieceBytes);
      left_ = kPieceBytes;
    }
    char* const taken = next_;
    next_ += bytes;
    left_ -= bytes;
    return taken;
  }

  char* new_piece(std::size_t bytes) {
    pieces_.push_back(std::make_unique_for_overwrite<char[]>(bytes));
    return pieces_.back().get();
  }

  std::vector<std::unique_ptr<char[]>> pieces_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
};

namespace {

// Its own frame, so that nothing that a jump would spoil lives in it.
[[gnu::noinline]] const GumboNode* parse_until_late(HtmlArena* arena, std::string_view html) {
  if (setjmp(arena->late) != 0) return nullptr;
  GumboOptions options = kGumboDefaultOptions;
  options.allocator = HtmlArena::take;
  options.deallocator = HtmlArena::give_back;
  options.userdata = arena;
  options.max_errors = 0;
  return ::gumbo_parse_with_options(&options, html.data(), html.size())->root;
}

}  // namespace

HtmlTree::HtmlTree() : arena_(std::make_unique<HtmlArena>()) {}
HtmlTree::HtmlTree(HtmlTree&&) noexcept = default;
HtmlTree& HtmlTree::operator=(HtmlTree&&) noexcept = default;
HtmlTree::~HtmlTree() = default;

std::optional<HtmlTree> HtmlTree::parse(std::string_view html, std::int64_t cpu_ms) {
  HtmlTree tree;
  const CpuAlarm alarm(cpu_ms, &tree.arena_->is_late);
  tree.root_ = parse_until_late(tree.arena_.get(), html);
  if (tree.root_ == nullptr) return std::nullopt;
  return tree;
}

std::string_view attribute_of(const GumboElement& element, const char* name) {
  const GumboAttribute* const found = ::gumbo_get_attribute(&element.attributes, name);
  return found == nullptr ? std::string_view() : std::string_view(found->value);
}

}  // namespace quern::worker
