// `aql run`: one kernel of a file, with arguments in words, launched by hand.

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <aql/launch.hpp>
#include <aql/module.hpp>
#include <aql/queue.hpp>
#include <aql/signal.hpp>

#include "arg_spec.hpp"
#include "sim_report.hpp"
#include "tool.hpp"

namespace aql::tool {
namespace {

struct RunOptions {
  std::string file, kernel, grid, group, device, acquire = "system", release = "system";
  std::vector<std::string> args;
  std::uint32_t dynamic_lds = 0, stack_bytes = 16384, repeat = 1;
  bool barrier = false, print_packet = false, trace = false, fidelity = false, json = false;
};

// One argument of the launch as it was asked, and the buffer it owns if it is one.
struct Argument {
  ArgSpec spec;
  Buffer buffer;
};

Result<Scope> parse_scope(const std::string& text, const char* option) {
  if (text == "none") return Scope::none;
  if (text == "agent") return Scope::agent;
  if (text == "system") return Scope::system;
  return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("{} {}: use none, agent or system", option, text), "aql run"});
}

Result<Device> open_device(const RunOptions& options) {
  Select select;
  select.selector = options.device;
  if (select.selector.empty()) select.target = target_of_file(options.file);
  return Device::open(select);
}

Result<std::vector<Argument>> parse_arguments(const RunOptions& options) {
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < options.args.size(); ++i) {
    auto spec = parse_arg_spec(options.args[i]);
    if (!spec) return std::unexpected(spec.error());
    if (const auto* ref = std::get_if<RefSpec>(&*spec)) {
      if (ref->index >= i || !std::holds_alternative<BufferSpec>(arguments[ref->index].spec)) {
        return std::unexpected(Error{Errc::invalid_argument, 0, fmt::format("argument {}: ref:{} must name an earlier argument that is a buffer", i, ref->index), "--arg"});
      }
    }
    arguments.push_back({std::move(*spec), {}});
  }
  return arguments;
}

Result<void> set_argument(const Device& device, Kernargs& kernargs, std::vector<Argument>& arguments, std::size_t i) {
  auto& argument = arguments[i];
  if (const auto* value = std::get_if<ValueSpec>(&argument.spec)) return kernargs.set_bytes(i, value->bytes);
  if (std::holds_alternative<NullSpec>(argument.spec)) return kernargs.set_address(i, 0);
  if (const auto* local = std::get_if<LocalSpec>(&argument.spec)) return kernargs.set_local(i, local->size_bytes);
  if (const auto* ref = std::get_if<RefSpec>(&argument.spec)) return kernargs.set(i, arguments[ref->index].buffer);
  const auto& spec = std::get<BufferSpec>(argument.spec);
  auto buffer = device.allocate(spec.pool, spec.size_bytes(), fmt::format("arg{}", i));
  if (!buffer) return std::unexpected(buffer.error());
  if (spec.init != BufferSpec::Init::zero) {
    auto contents = initial_contents(spec);
    if (!contents) return std::unexpected(contents.error());
    if (auto done = buffer->write(contents->data(), contents->size()); !done) return done;
  }
  argument.buffer = std::move(*buffer);
  return kernargs.set(i, argument.buffer);
}

Result<void> write_file(const std::string& path, std::span<const std::byte> bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  const bool ok = file != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const int error = errno;
  if ((file != nullptr && std::fclose(file) != 0) || !ok) {
    return std::unexpected(Error{Errc::invalid_file, error, fmt::format("'{}' cannot be written", path), "out="});
  }
  return {};
}

Result<void> show_outputs(std::vector<Argument>& arguments, bool json, nlohmann::json& report) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto* spec = std::get_if<BufferSpec>(&arguments[i].spec);
    if (spec == nullptr || spec->out.empty()) continue;
    std::vector<std::byte> bytes(spec->size_bytes());
    if (auto done = arguments[i].buffer.read(bytes.data(), bytes.size()); !done) return done;
    if (spec->out != "-") {
      if (auto done = write_file(spec->out, bytes); !done) return done;
      continue;
    }
    if (json) {
      auto& values = report["outputs"][std::to_string(i)] = nlohmann::json::array();
      for (std::size_t k = 0; k < spec->count; ++k) values.push_back(format_element(spec->type, bytes, k));
      continue;
    }
    fmt::print("arg{} ({} x {}):\n", i, name_of(spec->type), spec->count);
    for (std::size_t k = 0; k < spec->count; ++k) {
      fmt::print("{}{}", format_element(spec->type, bytes, k), (k % 8 == 7 || k + 1 == spec->count) ? "\n" : " ");
    }
  }
  return {};
}

int fail(const Error& error, int status, const RunOptions& options, nlohmann::json& report) {
  if (options.json) {
    report["completed"] = false;
    report["error"] = {{"code", to_string(error.code)}, {"hsa_status", hsa_status(error.code)}, {"message", error.message()}};
    fmt::print("{}\n", report.dump(2));
  } else {
    fmt::print(stderr, "aql run: {}\n", error.message());
  }
  return status;
}

int run(const RunOptions& options) {
  nlohmann::json report;
  const auto usage = [&](const Error& e) { return fail(e, kUsage, options, report); };
  const auto failed = [&](const Error& e) { return fail(e, kFailed, options, report); };

  const auto grid = parse_dim3(options.grid);
  if (!grid) return usage(grid.error());
  const auto group = parse_dim3(options.group);
  if (!group) return usage(group.error());
  const auto acquire = parse_scope(options.acquire, "--acquire");
  if (!acquire) return usage(acquire.error());
  const auto release = parse_scope(options.release, "--release");
  if (!release) return usage(release.error());
  auto arguments = parse_arguments(options);
  if (!arguments) return usage(arguments.error());
  if (options.repeat == 0) return usage(Error{Errc::invalid_argument, 0, "--repeat 0: at least 1", "aql run"});

  auto device = open_device(options);
  if (!device) return usage(device.error());
  auto module = Module::load_file(*device, options.file);
  if (!module) return failed(module.error());
  auto kernel = module->kernel(options.kernel);
  if (!kernel) return usage(kernel.error());

  Kernargs kernargs{*kernel};
  if (arguments->size() != kernargs.explicit_count()) {
    return usage(Error{Errc::invalid_argument, 0, fmt::format("'{}' takes {} arguments; {} --arg were given", kernel->name(), kernargs.explicit_count(), arguments->size()), "aql run"});
  }
  for (std::size_t i = 0; i < arguments->size(); ++i) {
    if (auto done = set_argument(*device, kernargs, *arguments, i); !done) {
      return done.error().code == Errc::invalid_argument ? usage(done.error()) : failed(done.error());
    }
  }

  QueueOptions queue_options;
  queue_options.packets = 64;
  auto queue = Queue::create(*device, queue_options);
  if (!queue) return failed(queue.error());
  auto signal = Signal::create(*device, options.repeat);
  if (!signal) return failed(signal.error());
  auto prepared = PreparedDispatch::create(*queue, kernargs,
                                           {.grid = *grid, .group = *group, .dynamic_lds = options.dynamic_lds, .stack_bytes = options.stack_bytes, .barrier = options.barrier ? Barrier::on : Barrier::off, .acquire = *acquire, .release = *release});
  if (!prepared) return failed(prepared.error());
  auto& packet = prepared->packet();
  packet.completion = signal->handle();
  if (options.print_packet && !options.json) fmt::print("{}\n{}\n", to_line(packet), to_hex_dump(packet));

  SimReport sim{*device, options.trace, options.fidelity};
  Result<void> ended{};
  for (std::uint32_t i = 0; i < options.repeat && ended; ++i) {
    if (!queue->post(packet)) ended = queue->status();
  }
  if (ended) {
    // Own signal: the tool asks it for timestamps. The wait ends also when the queue fails.
    signal->wait(Condition::eq, 0, Deadline::never(), Wait::blocked, *queue);
    ended = queue->status();
  }
  sim.stop();
  report["device"] = device->info().selector;
  report["kernel"] = kernel->name();
  if (options.print_packet) report["packet"] = to_line(packet);
  if (!ended) return fail(ended.error(), kFaulted, options, report);

  std::string duration = "no timestamps";
  if (const auto times = signal->timestamps()) {
    const auto ns = device->to_host_ns(times->end) - device->to_host_ns(times->start);
    duration = fmt::format("{:.1f} us on the device", static_cast<double>(ns) / 1000.0);
    report["duration_ns"] = ns;
  }
  report["completed"] = true;
  report["dispatches"] = options.repeat;
  if (options.fidelity) report["fidelity"] = sim.json();
  if (!options.json) {
    fmt::print("{}: {} of {} x {} x {} work-items in groups of {} x {} x {}, {} dispatch{}, {}\n", device->info().selector, kernel->name(), grid->x, grid->y, grid->z, group->x,
               group->y, group->z, options.repeat, options.repeat == 1 ? "" : "es", duration);
    if (options.fidelity) fmt::print("{}", sim.text());
  }
  if (auto shown = show_outputs(*arguments, options.json, report); !shown) return failed(shown.error());
  if (options.json) fmt::print("{}\n", report.dump(2));
  return kOk;
}

} // namespace

void add_run(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("run", "launch one kernel of a code object or bundle");
  auto o = std::make_shared<RunOptions>();
  command->add_option("FILE", o->file, "ELF code object or offload bundle")->required();
  command->add_option("--kernel", o->kernel, "kernel symbol, with or without .kd")->required();
  command->add_option("--grid", o->grid, "work-items: X[,Y[,Z]]")->required();
  command->add_option("--group", o->group, "work-items a group: X[,Y[,Z]]")->required();
  command->add_option("--arg", o->args,
                      "argument, in order: TYPE:VALUE, hex:BYTES, null, lds:BYTES, ref:N, or buf:TYPE:COUNT[:init=zero|iota|const=V|rand=SEED|@FILE][:out=FILE|-][:mem=coarse|fine|host]")
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("--dynamic-lds", o->dynamic_lds, "bytes of LDS a group behind the kernel's own");
  command->add_option("--stack-bytes", o->stack_bytes, "private bytes a work-item for recursion and indirect calls, where the kernel uses a dynamic stack")->capture_default_str();
  command->add_option("--device", o->device, "sim:TARGET, sim:PRODUCT, rocr:N or kfd:N; default AQL_DEVICE, else what the file needs");
  command->add_option("--repeat", o->repeat, "dispatches");
  command->add_flag("--barrier", o->barrier, "set the barrier bit");
  command->add_option("--acquire", o->acquire, "fence scope: none, agent, system");
  command->add_option("--release", o->release, "fence scope: none, agent, system");
  command->add_flag("--print-packet", o->print_packet, "show the packet before it is submitted");
  command->add_flag("--trace-insts", o->trace, "software GPU: print every instruction (stderr)");
  command->add_flag("--fidelity", o->fidelity, "software GPU: which instructions were exact, assumed, approximated");
  command->add_flag("--json", o->json, "print JSON");
  command->callback([o, &status] { status = run(*o); });
}

} // namespace aql::tool
