// Datasets over the network, from a site of this machine, into our own archive.
#pragma once

#include <memory>

#include "conformance/fileset_fixture.h"
#include "fileset/network.h"
#include "support/dataset_site.h"

namespace quern::fileset {

class FilesetSiteTest : public FilesetTest {
 protected:
  Backends backends() override {
    NetworkOptions options;
    options.allow_private = "*";
    Result<std::unique_ptr<Network>> network =
        Network::open({loop_->loop(), *pool_, folder_.path()}, std::move(options));
    CHECK_OK(network);
    network_ = *std::move(network);
    return {network_->outside(), [this](const ToolOrder& order) { return network_->tools(order); },
            [this] { network_->close(); }};
  }
  void closed() override { network_.reset(); }

  std::unique_ptr<Network> network_;
};

}  // namespace quern::fileset
