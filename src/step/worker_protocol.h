// The worker protocol over HTTP: /steps/{StepId}, as docs/worker-protocol.md tells. Each function
// answers one request.
//
// Guarantee: a poll never gets an error (it is held, then 204); before any 404 or 500 of a POST its
// body is read to the end, since clients die of an early answer; 202 means that all of it is
// stored.
//
// On the loop.
#pragma once

#include <string>

#include "net/exchange.h"
#include "net/target.h"
#include "step/pipeline.h"

namespace quern::step {

// What comes from the address: /steps/{step}/{task}/{name}.
struct TaskAddress {
  std::string step;
  std::string task;
  std::string name;
};

net::Task<Result<>> serve_poll(Pipeline& pipeline, net::Exchange& exchange,
                               const net::Target& target, std::string step);
// GET and HEAD of the task.
net::Task<Result<>> serve_task(Pipeline& pipeline, net::Exchange& exchange, TaskAddress address);
// GET and HEAD of blob and metadata.
net::Task<Result<>> serve_input(Pipeline& pipeline, net::Exchange& exchange, TaskAddress address);
// POST of many parts, or (with a name) of one.
net::Task<Result<>> serve_fragments(Pipeline& pipeline, net::Exchange& exchange,
                                    TaskAddress address);
net::Task<Result<>> serve_fragment(Pipeline& pipeline, net::Exchange& exchange,
                                   TaskAddress address);

// Bytes of a blob for whoever asks, with ranges; the whole is verified as it goes.
struct BlobHead {
  std::string content_type = "application/octet-stream";
  net::Headers headers;  // more of them
};
net::Task<Result<>> send_blob(const PipelineParts& parts, net::Exchange& exchange, blob::BlobId id,
                              BlobHead head);

}  // namespace quern::step
