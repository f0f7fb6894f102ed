// `aql info`: devices found, and drivers refused with the reason.

#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <aql/device.hpp>
#include <aql/version.hpp>

#include "tool.hpp"

namespace aql::tool {
namespace {

void print_text(const DeviceList& list) {
  fmt::print("aql {}\n\ndevices:\n", version_string());
  for (const auto& d : list.found) {
    fmt::print("  {:<12} {:<8} {:<46} {:>3} CUs in {} XCD{}, {} MHz, LDS {} KiB, {} GiB\n", d.selector, d.name, d.isa, d.compute_units, d.xcc_count, d.xcc_count == 1 ? "" : "s",
               d.clock_mhz, d.lds_bytes / 1024, d.memory_bytes >> 30);
  }
  fmt::print("\nrefused:\n");
  for (const auto& r : list.refused) fmt::print("  {:<12} {}\n", r.selector, r.reason);
  if (list.refused.empty()) fmt::print("  none\n");
}

nlohmann::json to_json(const DeviceList& list) {
  nlohmann::json j;
  j["version"] = version_string();
  j["devices"] = nlohmann::json::array();
  for (const auto& d : list.found) {
    j["devices"].push_back({{"selector", d.selector}, {"driver", d.driver}, {"name", d.name}, {"isa", d.isa}, {"target", d.target}, {"compute_units", d.compute_units},
                            {"xcc_count", d.xcc_count}, {"clock_mhz", d.clock_mhz}, {"lds_bytes", d.lds_bytes}, {"memory_bytes", d.memory_bytes},
                            {"max_workgroup_size", d.max_workgroup_size}, {"wavefront_size", d.wavefront_size}, {"timestamp_hz", d.timestamp_hz}});
  }
  j["refused"] = nlohmann::json::array();
  for (const auto& r : list.refused) j["refused"].push_back({{"selector", r.selector}, {"reason", r.reason}});
  return j;
}

} // namespace

void add_info(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("info", "devices found and refused, with reasons");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "print JSON");
  command->callback([json, &status] {
    const auto list = devices();
    if (*json) fmt::print("{}\n", to_json(list).dump(2));
    else print_text(list);
    status = kOk;
  });
}

} // namespace aql::tool
