#pragma once
// Everything public, in reading order.

#include <aql/version.hpp>

#include <aql/error.hpp>
#include <aql/types.hpp>

#include <aql/device.hpp>
#include <aql/memory.hpp>
#include <aql/signal.hpp>
#include <aql/signal_handlers.hpp>

#include <aql/packet.hpp>
#include <aql/queue.hpp>
#include <aql/command_list.hpp>

#include <aql/bundle.hpp>
#include <aql/code_object.hpp>
#include <aql/kernargs.hpp>
#include <aql/launch.hpp>
#include <aql/module.hpp>

#include <aql/numerics.hpp>
