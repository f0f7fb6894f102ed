// `aql inspect FILE`: what a code object or an offload bundle holds.

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "inspect.hpp"
#include "tool.hpp"

namespace aql::tool {
namespace {

struct Request {
  std::string file, product;
  InspectOptions options;
  bool json = false;
};

Result<std::vector<std::byte>> read_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (!file || (content << file.rdbuf(), file.bad()) || (content.str().empty() && errno != 0)) {
    return std::unexpected(Error{Errc::invalid_file, errno, fmt::format("cannot read \"{}\"", path), "inspect"});
  }
  const std::string text = content.str();
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return std::vector<std::byte>(begin, begin + text.size());
}

int fail(const Error& error, int status) {
  fmt::print(stderr, "aql inspect: {}\n", error.message());
  return status;
}

std::string known_products() {
  std::string names;
  for (const auto& p : sim::device_profiles()) names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", p.name, p.target);
  return names;
}

// The code objects of the file that are to be shown, each with the id of its bundle entry (empty for a bare ELF).
struct Selected {
  std::string entry;
  CodeObject object;
};

// Entries that cannot be read are told and passed over: the others may still be of interest.
Result<std::vector<Selected>> select_entries(const Bundle& bundle, const InspectOptions& options,
                                             std::vector<std::string>& problems) {
  std::vector<Selected> selected;
  const BundleEntry* only = nullptr;
  if (options.product != nullptr) {
    auto device = TargetId::parse(options.product->target);
    if (!device) return std::unexpected(device.error());
    device->xnack = options.product->xnack ? FeatureState::on : FeatureState::off;
    device->sramecc = options.product->sramecc ? FeatureState::on : FeatureState::off;
    auto entry = bundle.select(*device);
    if (!entry) return std::unexpected(entry.error());
    only = *entry;
  }
  for (const auto& entry : bundle.entries()) {
    if ((only != nullptr && &entry != only) || !entry.target || entry.bytes.empty()) continue;
    if (auto object = CodeObject::parse(entry.bytes))
      selected.push_back({entry.id, std::move(*object)});
    else
      problems.push_back(fmt::format("entry {}: {}", entry.id, object.error().message()));
  }
  return selected;
}

int inspect(const Request& request) {
  InspectOptions options = request.options;
  if (!request.product.empty()) {
    options.product = sim::find_profile(request.product);
    if (options.product == nullptr) {
      return fail({Errc::invalid_argument, 0, fmt::format("no product \"{}\"; there are: {}", request.product, known_products()),
                   "inspect"},
                  kUsage);
    }
  }
  const auto bytes = read_file(request.file);
  if (!bytes) return fail(bytes.error(), kFailed);

  std::optional<Bundle> bundle;
  std::vector<Selected> selected;
  std::vector<std::string> problems;
  if (Bundle::recognizes(*bytes)) {
    auto opened = Bundle::open(*bytes);
    if (!opened) return fail(opened.error(), kFailed);
    bundle = std::move(*opened);
    auto entries = select_entries(*bundle, options, problems);
    if (!entries) return fail(entries.error(), kFailed);
    selected = std::move(*entries);
  } else {
    auto object = CodeObject::parse(*bytes);
    if (!object) return fail(object.error(), kFailed);
    if (options.product != nullptr && products_for(object->target_id()).empty()) {
      problems.push_back(fmt::format("no known product runs {}", object->target_id().short_name()));
    }
    selected.push_back({"", std::move(*object)});
  }

  if (request.json) {
    nlohmann::json document{
        {"file", request.file}, {"size", bytes->size()}, {"code_objects", nlohmann::json::array()}, {"problems", problems}};
    if (bundle) document["bundle"] = to_json(*bundle);
    for (const auto& s : selected) {
      auto object = to_json(s.object, options);
      if (!s.entry.empty()) object["bundle_entry"] = s.entry;
      document["code_objects"].push_back(std::move(object));
    }
    fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}: {} bytes\n", request.file, bytes->size());
    if (bundle) fmt::print("{}", to_text(*bundle));
    for (const auto& s : selected) {
      if (!s.entry.empty()) fmt::print("\nentry {}\n", s.entry);
      fmt::print("{}", to_text(s.object, options));
    }
    for (const auto& p : problems) fmt::print("\n{}\n", p);
  }
  return problems.empty() ? kOk : kFailed;
}

} // namespace

void add_inspect(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("inspect", "what a code object or an offload bundle holds");
  auto request = std::make_shared<Request>();
  command->add_option("FILE", request->file, "ELF code object or offload bundle")->required();
  command->add_option("--product", request->product,
                      "product for the occupancy, and the bundle entry to show: " + known_products());
  command->add_option("--group", request->options.group_size, "work-items a group for the occupancy; else the kernel's own maximum")
      ->check(CLI::Range(1, 1024));
  command->add_option("--dynamic-lds", request->options.dynamic_lds, "bytes of dynamic LDS for the occupancy");
  command->add_flag("--json", request->json, "print JSON");
  command->callback([request, &status] { status = inspect(*request); });
}

} // namespace aql::tool
