#pragma once
// Precompiled for the libraries that stand on the engine: what base/pch.h has, JSON and coroutines.
#include <boost/asio/awaitable.hpp>
#include <boost/json.hpp>
#include <filesystem>
#include <set>

#include "base/pch.h"
