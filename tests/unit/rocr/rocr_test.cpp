// The rocr driver over a fake HSA runtime: what it reads, what it hands on, and what it refuses.
#include "unit/rocr/fake_hsa.hpp"

#include <ctime>
#include <numeric>
#include <thread>

#include <aql/packet.hpp>

#include "driver/kfd_claim.hpp"

using namespace rocr_test;

namespace {

QueueRequest request(std::function<void(const QueueFaultInfo&)> on_fault = {}) {
  QueueRequest r;
  r.packets = 64;
  r.on_fault = std::move(on_fault);
  return r;
}

// What a test waits for that another thread does.
struct Flag {
  std::atomic<bool> up = false;
  void raise() {
    up = true;
    up.notify_all();
  }
  void wait() const { up.wait(false); }
};

void fail(FakeQueue& queue, hsa_status_t status = HSA_STATUS_ERROR_EXCEPTION) { queue.callback(status, &queue.amd.hsa_queue, queue.data); }

hsa_amd_event_t memory_fault(std::uint64_t agent, std::uint64_t address, std::uint32_t reason) {
  hsa_amd_event_t event{};
  event.event_type = HSA_AMD_GPU_MEMORY_FAULT_EVENT;
  event.memory_fault = {{agent}, address, reason};
  return event;
}

} // namespace

TEST_CASE("rocr: a device's information is its agent's") {
  FakeHsa fake;
  const auto driver = fake.open(1);
  const auto& info = driver->info();
  CHECK(info.selector == "rocr:1");
  CHECK(info.name == "Fake Instinct");
  CHECK(info.target == "gfx90a");
  CHECK(info.isa == "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-");
  CHECK(info.sramecc);
  CHECK_FALSE(info.xnack);
  CHECK(info.compute_units == 104);
  CHECK(info.waves_per_simd == 8);
  CHECK(info.memory_bytes == std::uint64_t{64} << 30);
  CHECK(info.timestamp_hz == 100'000'000); // measured: the runtime does not tell it
}

TEST_CASE("rocr: the runtime is shut down when the last device goes") {
  FakeHsa fake;
  {
    const auto driver = fake.open();
    CHECK(fake.running == 1);
  }
  CHECK(fake.running == 0);
}

TEST_CASE("rocr: a runtime that does not start is refused with its words") {
  FakeHsa fake;
  fake.init = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  const auto runtime = rocr::Runtime::create(FakeHsa::table());
  REQUIRE_FALSE(runtime);
  CHECK(runtime.error().code == Errc::unsupported);
  CHECK_THAT(runtime.error().detail, Catch::Contains("words of the runtime"));
}

TEST_CASE("rocr: an agent with waves of 32 and a number too high are refused with the reason") {
  FakeHsa fake;
  fake.agents[2].wave = 32;
  auto runtime = rocr::Runtime::create(FakeHsa::table());
  REQUIRE(runtime);
  const auto narrow = rocr::open(*runtime, 1), none = rocr::open(*runtime, 2);
  REQUIRE_FALSE(narrow);
  REQUIRE_FALSE(none);
  CHECK_THAT(narrow.error().detail, Catch::Contains("waves of 32"));
  CHECK_THAT(none.error().detail, Catch::Contains("shows 2 GPUs"));
}

TEST_CASE("rocr: while one hardware driver is open the other is refused") {
  auto first = KfdClaim::take("rocr");
  REQUIRE(first);
  CHECK(KfdClaim::take("rocr"));
  const auto other = KfdClaim::take("kfd");
  REQUIRE_FALSE(other);
  CHECK_THAT(other.error().detail, Catch::Contains("the rocr driver is open"));
  *first = {};
  CHECK(KfdClaim::take("kfd"));
}

TEST_CASE("rocr: a queue's view leads to the runtime's ring, indices and doorbell, with timestamps on") {
  FakeHsa fake;
  const auto driver = fake.open();
  const auto view = driver->create_queue(request());
  REQUIRE(view);
  auto& queue = *fake.queues.at(0);
  CHECK(static_cast<void*>(view->ring) == queue.ring.data());
  CHECK(view->mask == 63);
  CHECK(static_cast<const volatile void*>(view->write_index) == &queue.amd.write_dispatch_id);
  CHECK(static_cast<const volatile void*>(view->read_index) == &queue.amd.read_dispatch_id);
  CHECK(view->doorbell == &queue.doorbell_word);
  CHECK(view->notify == nullptr);
  CHECK(view->queue_address == reinterpret_cast<std::uint64_t>(&queue.amd));
  CHECK(fake.profiled == 1);
  CHECK(driver->destroy_queue(view->id));
  CHECK(fake.queues_destroyed == 1);
  CHECK_FALSE(driver->destroy_queue(view->id));
}

TEST_CASE("rocr: a doorbell that is no raw doorbell is refused, and the queue given back") {
  const auto kind = GENERATE(std::int64_t{AMD_SIGNAL_KIND_USER}, std::int64_t{AMD_SIGNAL_KIND_LEGACY_DOORBELL});
  FakeHsa fake;
  fake.doorbell_kind = kind;
  const auto driver = fake.open();
  const auto view = driver->create_queue(request());
  REQUIRE_FALSE(view);
  CHECK(view.error().code == Errc::unsupported);
  CHECK_THAT(view.error().detail, Catch::Contains("no raw 64-bit doorbell"));
  CHECK(fake.queues_destroyed == 1);
}

TEST_CASE("rocr: apertures elsewhere than hidden arguments would say are refused") {
  FakeHsa fake;
  fake.shared_aperture_hi = 0x30000;
  const auto driver = fake.open();
  const auto view = driver->create_queue(request());
  REQUIRE_FALSE(view);
  CHECK_THAT(view.error().detail, Catch::Contains("0x30000"));
  CHECK(fake.queues_destroyed == 1);
}

TEST_CASE("rocr: sizes that are no power of two in range, and agent functions, are refused") {
  FakeHsa fake;
  const auto driver = fake.open();
  auto odd = request(), large = request(), agent = request();
  odd.packets = 65;
  large.packets = 262144;
  agent.agent_function = [](std::uint16_t, const std::uint64_t*, std::uint64_t) { return Errc::ok; };
  CHECK(driver->create_queue(odd).error().code == Errc::invalid_queue_creation);
  CHECK(driver->create_queue(large).error().code == Errc::invalid_queue_creation);
  CHECK(driver->create_queue(agent).error().code == Errc::unsupported);
  CHECK(fake.queues.empty());
}

TEST_CASE("rocr: a queue error is told once, with the status of the runtime") {
  FakeHsa fake;
  const auto driver = fake.open();
  std::vector<QueueFaultInfo> faults;
  Flag told;
  const auto view = driver->create_queue(request([&](const QueueFaultInfo& f) {
    faults.push_back(f);
    told.raise();
  }));
  REQUIRE(view);
  auto& queue = *fake.queues.at(0);
  fail(queue, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
  fail(queue, HSA_STATUS_ERROR);
  CHECK(driver->inactivate_queue(view->id));
  told.wait();
  REQUIRE(driver->destroy_queue(view->id)); // nobody tells anything afterwards
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].code == Errc::invalid_packet_format);
  CHECK(faults[0].hsa_status == 0x1009);
}

TEST_CASE("rocr: a memory fault reaches the queues of its device and no others, and none that is destroyed") {
  FakeHsa fake;
  const auto first = fake.open(0), second = fake.open(1);
  std::vector<std::string> told;
  Flag heard;
  const auto listen = [&](const char* who) {
    return request([&, who](const QueueFaultInfo& f) {
      told.push_back(std::string{who} + ": " + f.detail);
      heard.raise();
    });
  };
  const auto a = first->create_queue(listen("a")), b = first->create_queue(listen("b")), c = second->create_queue(listen("c"));
  REQUIRE((a && b && c));
  REQUIRE(first->destroy_queue(b->id));
  const auto event = memory_fault(2, 0xdead000, HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT);
  CHECK(rocr::on_system_event(&event, nullptr) == HSA_STATUS_SUCCESS);
  heard.wait();
  REQUIRE(first->destroy_queue(a->id));
  REQUIRE(second->destroy_queue(c->id));
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Catch::StartsWith("a: ") && Catch::Contains("0xdead000") && Catch::Contains("page not present"));
}

TEST_CASE("rocr: a memory fault on a device without queues is left to the runtime") {
  FakeHsa fake;
  const auto driver = fake.open();
  const auto event = memory_fault(2, 0xdead000, HSA_AMD_MEMORY_FAULT_READ_ONLY);
  CHECK(rocr::on_system_event(&event, nullptr) != HSA_STATUS_SUCCESS);
}

TEST_CASE("rocr: a receiver may destroy its own queue and others") {
  FakeHsa fake;
  const auto driver = fake.open();
  std::uint64_t own = 0, other = 0;
  bool destroyed = false;
  Flag told;
  const auto a = driver->create_queue(request([&](const QueueFaultInfo&) {
    destroyed = driver->destroy_queue(own).has_value() && driver->destroy_queue(other).has_value();
    told.raise();
  }));
  const auto b = driver->create_queue(request());
  REQUIRE((a && b));
  own = a->id, other = b->id;
  fail(*fake.queues.at(0));
  told.wait();
  CHECK(destroyed);
}

TEST_CASE("rocr: the runtime's thread does not wait for receivers") {
  FakeHsa fake;
  const auto driver = fake.open();
  Flag go_on, told;
  std::thread::id teller;
  const auto view = driver->create_queue(request([&](const QueueFaultInfo&) {
    go_on.wait();
    teller = std::this_thread::get_id();
    told.raise();
  }));
  REQUIRE(view);
  fail(*fake.queues.at(0)); // returns while the receiver still waits
  go_on.raise();
  told.wait();
  CHECK(teller != std::this_thread::get_id());
}

TEST_CASE("rocr: faults are told in their order, and the fault of a queue that is destroyed before its turn is not") {
  FakeHsa fake;
  const auto driver = fake.open();
  Flag go_on, last;
  std::vector<std::string> told;
  const auto note = [&](const char* who) { return request([&told, who](const QueueFaultInfo&) { told.push_back(who); }); };
  const auto a = driver->create_queue(request([&](const QueueFaultInfo&) {
    go_on.wait();
    told.push_back("a");
  }));
  const auto b = driver->create_queue(note("b")), c = driver->create_queue(note("c"));
  const auto d = driver->create_queue(request([&](const QueueFaultInfo&) {
    told.push_back("d");
    last.raise();
  }));
  REQUIRE((a && b && c && d));
  for (auto& queue : fake.queues) fail(*queue);
  REQUIRE(driver->destroy_queue(b->id));
  go_on.raise();
  last.wait();
  CHECK(told == std::vector<std::string>{"a", "c", "d"});
}

TEST_CASE("rocr: a receiver may hold the last of the driver") {
  FakeHsa fake;
  Flag may, gone;
  auto driver = fake.open();
  const std::weak_ptr<Driver> watched = driver;
  const auto view = driver->create_queue(request([&](const QueueFaultInfo&) {
    may.wait();
    driver.reset();
    gone.raise();
  }));
  REQUIRE(view);
  fail(*fake.queues.at(0));
  may.raise();
  gone.wait();
  CHECK(watched.expired());
  CHECK(fake.queues_destroyed == 1);
}

TEST_CASE("rocr: memory kinds come from the pools with their flags; a kind without a pool is unsupported") {
  FakeHsa fake;
  const auto driver = fake.open();
  for (const auto kind : {PoolKind::device_coarse, PoolKind::host_fine, PoolKind::host_coarse, PoolKind::kernarg}) {
    const auto memory = driver->allocate(kind, 100, "");
    REQUIRE(memory);
    CHECK((memory->host != nullptr) == (kind != PoolKind::device_coarse));
    CHECK(driver->free(*memory));
  }
  CHECK(driver->allocate(PoolKind::device_fine, 100, "").error().code == Errc::unsupported);
  CHECK(driver->allocate(PoolKind::device_coarse, std::size_t{65} << 30, "").error().code == Errc::out_of_resources);
}

TEST_CASE("rocr: executable memory is allocated where the runtime knows the flag, else the runtime loads code") {
  FakeHsa fake;
  fake.ext_minor = GENERATE(std::uint16_t{0}, std::uint16_t{6}, std::uint16_t{7});
  const auto driver = fake.open();
  const auto memory = driver->allocate(PoolKind::executable, 4096, "");
  CHECK(memory.has_value() == (fake.ext_minor == 7));
  CHECK(driver->loads_code() == (fake.ext_minor != 7));
  if (memory) CHECK(fake.allocation_flags == std::vector<std::uint32_t>{4});
}

TEST_CASE("rocr: code that aql places is made visible by a PM4 buffer that invalidates the caches, on a queue of the driver's") {
  FakeHsa fake;
  fake.ext_minor = 7;
  auto driver = fake.open();
  const auto memory = driver->allocate(PoolKind::executable, 4096, "");
  REQUIRE(memory);
  std::vector<std::uint32_t> words;
  std::uint64_t next = 0;
  fake.on_wait = [&] { // the packet processor
    auto& queue = *fake.queues.at(0);
    if (queue.doorbell_word != next + 1) return;
    const auto slot = [&](std::uint64_t index) { return *reinterpret_cast<const abi::Slot*>(queue.ring.at(index % queue.ring.size()).data()); };
    const auto buffer = Pm4IbPacket::decode(slot(next));
    const auto* text = reinterpret_cast<const std::uint32_t*>(buffer.address);
    words.assign(text, text + buffer.size_dwords);
    const auto behind = BarrierAndPacket::decode(slot(next + 1));
    std::atomic_ref{reinterpret_cast<amd_signal_t*>(behind.completion.value)->value}.fetch_sub(1);
    next += 2;
  };
  for (int i = 0; i < 40; ++i) REQUIRE(driver->commit_code(*memory, {})); // also around the ring's end
  CHECK(next == 80);
  CHECK(fake.queues.size() == 1);
  CHECK(words == std::vector<std::uint32_t>{0xC0055800, 0x28840000, 0xFFFFFFFF, 0xFF, 0, 0, 4});
  CHECK(fake.allocation_flags == std::vector<std::uint32_t>{4, 4}); // code and commands: executable
  CHECK(driver->free(*memory));
  driver.reset();
  CHECK(fake.queues_destroyed == 1);
  CHECK(fake.memory.empty());
}

TEST_CASE("rocr: caches that are not invalidated because the queue stopped are an error, and the next time has a new queue") {
  FakeHsa fake;
  fake.ext_minor = 7;
  const auto driver = fake.open();
  const auto memory = driver->allocate(PoolKind::executable, 4096, "");
  REQUIRE(memory);
  fake.on_wait = [&] {
    if (fake.queues.size() == 1) fail(*fake.queues[0]);
    else std::atomic_ref{fake.signals.back()->value}.store(0);
  };
  const auto refused = driver->commit_code(*memory, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::device_lost);
  CHECK(driver->commit_code(*memory, {}));
  CHECK(fake.queues.size() == 2);
  CHECK(fake.queues_destroyed == 1);
}

TEST_CASE("rocr: copies between host and device memory of any size carry every byte") {
  FakeHsa fake;
  const auto driver = fake.open();
  constexpr std::size_t kBytes = (5u << 20) / 2 + 3; // more than the buffer in between holds
  std::vector<std::uint8_t> from(kBytes), back(kBytes);
  std::iota(from.begin(), from.end(), std::uint8_t{0});
  const auto memory = driver->allocate(PoolKind::device_coarse, kBytes, "");
  REQUIRE(memory);
  CHECK(driver->copy(memory->device_address, reinterpret_cast<std::uint64_t>(from.data()), kBytes));
  CHECK(driver->copy(reinterpret_cast<std::uint64_t>(back.data()), memory->device_address, kBytes));
  CHECK(from == back);
}

TEST_CASE("rocr: a copy with a wild host pointer or past an allocation is an error") {
  FakeHsa fake;
  const auto driver = fake.open();
  const auto memory = driver->allocate(PoolKind::device_coarse, 4096, "");
  REQUIRE(memory);
  CHECK(driver->copy(memory->device_address, 0x1000, 64).error().code == Errc::invalid_argument);
  CHECK(driver->copy(0x1000, memory->device_address, 64).error().code == Errc::invalid_argument);
  std::vector<std::byte> host(8192);
  const auto past = driver->copy(memory->device_address, reinterpret_cast<std::uint64_t>(host.data()), 8192);
  REQUIRE_FALSE(past);
  CHECK_THAT(past.error().detail, Catch::Contains("leaves its allocation"));
}

TEST_CASE("rocr: pinned memory is copied and filled through its host address, whatever the device's is") {
  FakeHsa fake;
  const auto driver = fake.open();
  std::vector<std::uint32_t> host(1024, 1);
  const auto pinned = driver->pin(host.data(), 4096, true);
  REQUIRE(pinned);
  CHECK(pinned->device_address != reinterpret_cast<std::uint64_t>(host.data()));
  const std::uint32_t value = 77;
  CHECK(driver->copy(pinned->device_address + 8, reinterpret_cast<std::uint64_t>(&value), 4));
  CHECK(driver->fill32(pinned->device_address + 16, 99, 2));
  CHECK(host[2] == 77);
  CHECK(host[4] == 99);
  CHECK(host[6] == 1);
  CHECK(driver->pin(host.data(), 64, false).error().code == Errc::unsupported);
  CHECK(driver->unpin(*pinned));
  CHECK(fake.locked.empty());
}

TEST_CASE("rocr: a signal's handle is its object; a raw store followed by its hook goes through the runtime") {
  FakeHsa fake;
  const auto driver = fake.open();
  const auto signal = driver->create_signal(5);
  REQUIRE(signal);
  CHECK(signal->handle == reinterpret_cast<std::uint64_t>(signal->object));
  CHECK(signal->object->value == 5);
  const auto epoch = driver->wait_epoch(*signal);
  std::atomic_ref{signal->object->value}.store(4);
  signal->notify(signal->notify_arg);
  CHECK(fake.signal_adds == 1);
  CHECK(signal->object->value == 4);
  driver->wait_changed(*signal, epoch, Deadline::never()); // returns: the value is no longer the epoch's
  driver->wait_changed(*signal, driver->wait_epoch(*signal), Deadline::never()); // returns: sleeps are bounded
  CHECK(driver->destroy_signal(*signal));
}

TEST_CASE("rocr: waits for several signals sleep on all of them") {
  FakeHsa fake;
  const auto driver = fake.open();
  std::vector<Signal> signals;
  for (int i = 0; i < 65; ++i) signals.push_back(Signal::create(driver, 7).value());
  std::vector<WaitFor> list;
  for (const Condition c : {Condition::eq, Condition::ne, Condition::lt, Condition::gte}) list.push_back({signals[list.size()], c, c == Condition::ne ? 7 : c == Condition::lt ? 7 : 8});
  CHECK_FALSE(wait_any(list, Deadline::in(std::chrono::milliseconds{1}), Wait::blocked));
  for (const std::size_t which : {0u, 1u, 2u, 3u}) {
    const std::int64_t value = which == 2 ? 6 : 8;
    fake.waits_for_any = 0;
    std::jthread other{[&] {
      while (fake.waits_for_any == 0) std::this_thread::yield();
      signals[which].store_release(value);
    }};
    const auto found = wait_any(list);
    REQUIRE(found);
    CHECK(found->index == which);
    CHECK(found->value == value);
    other.join();
    signals[which].store_release(7);
  }
  // More than the runtime is asked for at once: found all the same.
  list.clear();
  for (const auto& s : signals) list.push_back({s, Condition::eq, 0});
  std::jthread other{[&] { signals[64].store_release(0); }};
  const auto found = wait_any(list);
  REQUIRE(found);
  CHECK(found->index == 64);
}

TEST_CASE("rocr: device ticks now, as host time, are now") {
  FakeHsa fake;
  const auto driver = fake.open();
  timespec before{}, after{};
  clock_gettime(CLOCK_MONOTONIC, &before);
  const auto ns = driver->to_host_ns(driver->timestamp());
  clock_gettime(CLOCK_MONOTONIC, &after);
  constexpr std::int64_t kSlack = 1000; // a tick is 10 ns; the offset of two host clocks is known to less than this
  CHECK(ns >= static_cast<std::int64_t>(before.tv_sec) * 1'000'000'000 + before.tv_nsec - kSlack);
  CHECK(ns <= static_cast<std::int64_t>(after.tv_sec) * 1'000'000'000 + after.tv_nsec + kSlack);
}

TEST_CASE("rocr: a loaded code object's image lies where the runtime moved it, and imports are defined before") {
  FakeHsa fake;
  const auto driver = fake.open();
  const std::vector<std::byte> file(64);
  const CodeRequest::Kernel kernels[] = {{"k.kd", 0x40}};
  const std::vector<std::string> imports{"table"};
  CodeRequest code;
  code.file = file;
  code.version = 4;
  code.virtual_base = 0x1000;
  code.image_bytes = 8192;
  code.kernels = kernels;
  code.imports = imports;
  code.resolve = [](std::string_view) { return std::optional<std::uint64_t>{0x5000}; };
  fake.kernel_object = 0x101040;
  const auto loaded = driver->load_code(code);
  REQUIRE(loaded);
  CHECK(loaded->device_address == 0x101000);
  CHECK(fake.defined == std::vector<std::string>{"table"});
  CHECK(driver->unload_code(*loaded));
  CHECK(fake.executables == 0);
  CHECK(fake.readers == 0);
  fake.kernel_object = 0x101080;
  const auto elsewhere = driver->load_code(code);
  REQUIRE_FALSE(elsewhere);
  CHECK_THAT(elsewhere.error().detail, Catch::Contains("0x101080"));
  code.resolve = {};
  CHECK(driver->load_code(code).error().code == Errc::invalid_symbol_name);
  CHECK(fake.executables == 0);
}

TEST_CASE("rocr: a version-6 code object that the runtime does not read is refused with what to do") {
  FakeHsa fake;
  fake.load = HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
  const auto driver = fake.open();
  CodeRequest code;
  code.version = 6;
  const auto loaded = driver->load_code(code);
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().code == Errc::invalid_code_object);
  CHECK_THAT(loaded.error().detail, Catch::Contains("version-6") && Catch::Contains("-mcode-object-version=5"));
  CHECK(fake.readers == 0);
}
