// For tests: the children that a step made, one struct each.
#pragma once

#include <boost/json.hpp>

#include <string>
#include <vector>

#include "worker/step_harness.h"

namespace quern::worker {

struct MadeChild {
  std::string name;
  std::string type;
  boost::json::object metadata;
  std::string blob;
  std::string error;  // its kind
};

inline std::vector<MadeChild> made_children(const StepRun& run) {
  std::vector<MadeChild> children;
  for (const auto& [part, body] : run.parts) {
    if (part.ends_with(".json")) {
      const boost::json::object object = boost::json::parse(body).as_object();
      MadeChild child;
      child.name = object.at("filename").as_string();
      child.type = object.at("contentType").as_string();
      child.metadata = object.at("metadata").as_object();
      children.push_back(std::move(child));
    } else if (part.ends_with(".blob")) {
      children.back().blob = body;
    } else if (part.ends_with(".error")) {
      children.back().error = boost::json::parse(body).as_object().at("kind").as_string();
    }
  }
  return children;
}

inline std::vector<std::string> names_of(const std::vector<MadeChild>& children) {
  std::vector<std::string> names;
  for (const MadeChild& child : children) names.push_back(child.name);
  return names;
}

}  // namespace quern::worker
