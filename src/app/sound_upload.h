// SoundUpload: files and folders that become episodes or clips. Sound is sent to the server, unless
// it is there already by its bytes; all else is left out, and said to be.
//
// On the loop; the disk on a pool of its own.
#pragma once

#include <boost/json/array.hpp>
#include <string>
#include <vector>

#include "app/door.h"
#include "app/episodes_command.h"
#include "io/pool.h"

namespace quern::app {

struct SoundFile {
  std::string path;
  std::string name;
  std::string sha256;
  std::int64_t file = 0;  // of the server, where it is there already
};

class SoundUpload {
 public:
  SoundUpload(Command command, Door& door, const EpisodesCommand& order)
      : command_(command), door_(door), order_(order) {}

  // {"file":ID,"title":…} of each, for /api/v1/episodes.
  net::Task<Result<boost::json::array>> send(std::vector<std::string> paths);

 private:
  net::Task<Result<std::vector<SoundFile>>> find(std::vector<std::string> paths);
  net::Task<Result<>> look_up(SoundFile& file);
  net::Task<Result<>> upload(std::vector<SoundFile>& files);
  std::string collection() const;

  Command command_;
  Door& door_;
  const EpisodesCommand& order_;
  io::Pool pool_{{.threads = 1, .queue_max = 16}};
};

}  // namespace quern::app
