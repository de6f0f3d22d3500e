// Lent: a file in the hands of a worker, and what has come back of it so far. On the loop.
//
//   Start -> AtChild(k) -> End          (../docs/worker-protocol.md draws it)
//
// The state outlives a POST that breaks off: the next one goes on from there. Nothing of a part
// that was cut is kept.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blob/blob.h"
#include "model/steps.h"
#include "net/event.h"
#include "net/task.h"
#include "step/fragment.h"
#include "tree/child.h"
#include "tree/file.h"
#include "tree/finish.h"

namespace quern::step {

struct Shard;

// A child that is being sent.
struct ChildUnderWay {
  std::int64_t index = 0;
  ChildHead head;
  std::optional<blob::Put> blob;
  std::string blob_head;  // its first bytes, to see whether it is what it claims
  bool inherits = false;
  std::optional<tree::Thumbnail> thumbnail;
  bool bad_thumbnail = false;
  std::optional<tree::Text> text;
  std::optional<tree::Failure> failure;
  bool progressed = false;  // a progress part came after its bytes: it is whole
};

// What became of a file that was to be shown on paper.
struct Rendered {
  enum class End {
    Made,      // file: a PDF, and perhaps a thumbnail
    Failed,    // failure: this file cannot be shown
    Attempt,   // failure: it may go better another time
    Canceled,  // the server ends
  };
  End end = End::Canceled;
  std::optional<tree::NewFile> file;
  tree::Failure failure;
};

// A file that is to be shown on paper: what a step makes of it goes to whoever asked, and nothing
// of the tree is written.
struct RenderOrder {
  tree::Waiting waiting;
  std::function<void(Rendered)> ended;  // once
  net::Instant since;
};

struct Lent {
  Lent() = default;
  ~Lent() {
    drop_child();
    drop_rendered();
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  // The child under way will not be stored: its bytes lie there for nobody.
  void drop_child() {
    if (!child || !discard) return;
    if (child->blob) discard(child->blob->place);
    if (child->thumbnail) discard(child->thumbnail->blob.place);
    if (child->text && child->text->blob) discard(child->text->blob->place);
    child.reset();
  }
  // Nor will what was made for a rendering.
  void drop_rendered() {
    if (!rendered || !discard) return;
    if (rendered->blob) discard(rendered->blob->place);
    if (rendered->thumbnail) discard(rendered->thumbnail->blob.place);
    rendered.reset();
  }

  std::function<void(const std::string& place)> discard;
  std::string id;
  model::StepId step = model::StepId::Text;
  std::shared_ptr<Shard> shard;            // null: of a rendering
  std::shared_ptr<RenderOrder> rendering;  // instead
  std::optional<tree::NewFile> rendered;   // of that: what has come
  tree::Waiting waiting;                   // the file and its blob
  std::vector<tree::Waiting> batch;        // of Detect instead
  std::string base_url;
  tree::StepReport report;
  net::Instant lent_at;
  net::Instant touched;
  bool posting = false;
  int reading = 0;               // blob downloads that are open
  bool marked = false;           // the store knows that it is lent
  bool over = false;             // it ended; late requests get 404
  bool ended_by_worker = false;  // it said so itself

  std::string links;     // of a web page; empty: none came
  std::int64_t at = -1;  // the child; -1: Start
  std::optional<ChildUnderWay> child;
  double fraction = 0;                  // the last progress
  double left = 0;                      // where the child's slice begins
  double right = 0;                     // where it ends, as far as is known
  std::int64_t pending = 0;             // children that are being stored
  std::int64_t pending_bytes = 0;       // of their inline data
  std::shared_ptr<net::Event> settled;  // notified when one is
  std::optional<Error> broken;          // why storing failed
  std::optional<tree::Failure> limit;   // of the root, that storing has shown to be reached
};
using LentPtr = std::shared_ptr<Lent>;

}  // namespace quern::step
