// The speed report of the software GPU: each row beside its rival, in one run, interleaved, medians. `aql bench isa` runs this.
//
//   bench_isa [--json] [--cpu-time] [--repeat N] [--only WORD] [--kernels DIR]
//
// Inputs are random at run time; outputs are checked after timing. --cpu-time measures the process's processor time instead of
// wall time (for a machine that does other things too); the row about worker threads is always wall time.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <dlfcn.h>

#include <fmt/format.h>

#include <aql/aql.hpp>
#include <nlohmann/json.hpp>

#include "valu_loop.hpp"

namespace {

using namespace aql;

struct Options {
  bool json = false, cpu_time = false;
  unsigned repeat = 7;
  std::string only;
  std::string kernels = AQL_BENCH_KERNEL_DIR;
} options;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "bench_isa: %s\n", why.c_str());
  std::exit(1);
}
template <class T>
T need(Result<T> result, const char* what) {
  if (!result) give_up(std::string(what) + ": " + result.error().message());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

double read_clock(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
double processor_time() { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }
double now(bool wall) { return wall || !options.cpu_time ? read_clock(CLOCK_MONOTONIC) : processor_time(); }

double median(std::vector<double> v) {
  std::ranges::sort(v);
  return v.size() % 2 == 1 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}

struct Row {
  std::string name, measure, rival;
  double ours = 0, theirs = 0; // seconds for the same work (0: no rival)
  double reached = 0, target = 0;
  bool less_is_better = false;
  std::string note;
  [[nodiscard]] bool good() const { return less_is_better ? reached <= target : reached >= target; }
};
std::vector<Row> rows;

// Runs all contestants in turn, `repeat` times (and once before that, not counted); medians in seconds.
std::vector<double> interleaved(const std::vector<std::function<void()>>& contestants, bool wall = false) {
  std::vector<std::vector<double>> times(contestants.size());
  for (unsigned round = 0; round <= options.repeat; ++round) {
    for (std::size_t n = 0; n < contestants.size(); ++n) {
      const double start = now(wall);
      contestants[n]();
      const double end = now(wall);
      if (round != 0) times[n].push_back(end - start);
    }
  }
  std::vector<double> medians;
  for (auto& t : times) medians.push_back(median(t));
  return medians;
}

bool wanted(std::string_view name) { return options.only.empty() || name.find(options.only) != std::string_view::npos; }

// --- vector ALU

void valu() {
  if (!bench::FmaFloor::possible()) return;
  bench::FmaFloor floor;
  bench::ValuLoop whole({0xd1cb0003, 0x040a0300}), partial({0xd1cb0003, 0x040a0300}); // v_fma_f32 v3, v0, v1, v2
  constexpr std::uint32_t kLoops = 20'000, kCount = kLoops * bench::ValuLoop::kUnrolled;
  constexpr std::uint64_t kPartial = 0x5a3c96f00ff03c5au;
  bool ended = true;
  const auto t = interleaved({[&] { floor.run(kCount); }, [&] { ended &= whole.run(kLoops, ~0ull); }, [&] { ended &= partial.run(kLoops, kPartial); }});
  if (!ended || !whole.fma_is_right(~0ull) || !partial.fma_is_right(kPartial)) give_up("v_fma_f32: wrong result");
  rows.push_back({"v_fma_f32 loop", "rate over the floor's", "64-lane fma in AVX2, straight line", t[1], t[0], t[0] / t[1], 0.6, false, fmt::format("{:.0f} M wave instructions/s", kCount / t[1] / 1e6)});
  rows.push_back({"v_fma_f32 loop, partial EXEC", "rate over whole EXEC's", "the row above", t[2], t[1], t[1] / t[2], 0.5, false, fmt::format("{:.0f} M wave instructions/s", kCount / t[2] / 1e6)});
}

// --- devices

struct Machine {
  Device device;
  Queue queue;
  static Machine open(const char* target, unsigned workers, bool fast) {
    Select select;
    select.selector = std::string("sim:") + target;
    select.exclusive = true;
    select.sim.workers = workers;
    select.sim.fast_matrix = fast;
    Device device = need(Device::open(select), "open");
    Queue queue = need(Queue::create(device, {}), "queue");
    return {std::move(device), std::move(queue)};
  }
  Kernel kernel(const std::string& file, const char* name) const {
    return need(need(Module::load_file(device, options.kernels + "/" + file + "." + device.info().target + ".co"), "load").kernel(name), "kernel");
  }
  Buffer buffer(std::size_t bytes) const { return need(device.allocate(PoolKind::device_coarse, bytes, "bench"), "allocate"); }
  void run(const DispatchPacket& packet) {
    auto ticket = queue.submit(packet);
    if (auto done = ticket.wait(Deadline::never(), Wait::blocked); !done) give_up(done.error().message());
  }
};

template <class... Args>
PreparedDispatch prepare(Machine& m, const Kernel& kernel, const Dispatch& dispatch, const Args&... args) {
  Kernargs kernargs{kernel};
  need(kernargs.set_all(args...), "arguments");
  return need(PreparedDispatch::create(m.queue, kernargs, dispatch), "prepare");
}

// --- matrix products

struct Blas {
  using Sgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);
  Sgemm sgemm = nullptr;
  Blas() {
    void* library = ::dlopen("libopenblas.so.0", RTLD_NOW);
    if (library == nullptr) return;
    sgemm = reinterpret_cast<Sgemm>(::dlsym(library, "cblas_sgemm"));
    if (const auto threads = reinterpret_cast<void (*)(int)>(::dlsym(library, "openblas_set_num_threads"))) threads(1);
  }
};

// C = A * B, A m x k and B k x n by rows, and B once more by columns.
struct Problem {
  std::uint32_t m, n, k;
  std::vector<float> a, b, c;
  Problem(std::uint32_t m_, std::uint32_t n_, std::uint32_t k_, float (*value)(std::mt19937&)) : m(m_), n(n_), k(k_), a(std::size_t{m} * k), b(std::size_t{k} * n), c(std::size_t{m} * n) {
    std::mt19937 random(std::random_device{}());
    for (float& v : a) v = value(random);
    for (float& v : b) v = value(random);
  }
  void by(const Blas& blas) { blas.sgemm(101, 111, 111, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), 1.0f, a.data(), static_cast<int>(k), b.data(), static_cast<int>(n), 0.0f, c.data(), static_cast<int>(n)); }
  // Sampled rows in f64.
  bool agrees(std::span<const float> got, double tolerance) const {
    for (std::uint32_t i = 0; i < m; i += 37) {
      for (std::uint32_t j = 0; j < n; ++j) {
        double sum = 0, magnitude = 0;
        for (std::uint32_t x = 0; x < k; ++x) {
          const double product = static_cast<double>(a[std::size_t{i} * k + x]) * static_cast<double>(b[std::size_t{x} * n + j]);
          sum += product;
          magnitude += std::fabs(product);
        }
        if (!(std::fabs(static_cast<double>(got[std::size_t{i} * n + j]) - sum) <= tolerance * magnitude + 1e-30)) return false;
      }
    }
    return true;
  }
};

float half_value(std::mt19937& random) { return num::f16::from_float(std::uniform_real_distribution<float>(-1.0f, 1.0f)(random)).to_float(); }

// gemm_f16_lds (B by rows) or the example's gemm_f16 (B by columns).
struct Gemm {
  Machine machine;
  Buffer a, b, c;
  PreparedDispatch dispatch;
  static Gemm make(const Problem& p, Machine machine, bool example) {
    std::vector<num::f16> ha(p.a.size()), hb(p.b.size());
    for (std::size_t i = 0; i < ha.size(); ++i) ha[i] = num::f16::from_float(p.a[i]);
    for (std::size_t r = 0; r < p.k; ++r)
      for (std::size_t j = 0; j < p.n; ++j) hb[example ? j * p.k + r : r * p.n + j] = num::f16::from_float(p.b[r * p.n + j]);
    Buffer a = machine.buffer(ha.size() * 2), b = machine.buffer(hb.size() * 2), c = machine.buffer(p.c.size() * 4);
    need(a.write(ha), "write");
    need(b.write(hb), "write");
    const std::uint32_t tile_m = example ? 128 : 256;
    const Dispatch shape{.grid = {(p.n + 127) / 128 * 256, (p.m + tile_m - 1) / tile_m}, .group = {256}, .barrier = Barrier::on};
    PreparedDispatch d = example ? prepare(machine, machine.kernel("bench_gemm", "gemm_f16"), shape, a, b, c, p.m, p.n, p.k)
                                 : prepare(machine, machine.kernel("bench_gemm_f16_lds", "gemm_f16_lds"), shape, c, a, b, p.m, p.n, p.k);
    return {std::move(machine), std::move(a), std::move(b), std::move(c), std::move(d)};
  }
  void run() { machine.run(dispatch.packet()); }
  [[nodiscard]] std::span<const float> result() const { return c.as<float>(); }
};

void gemm_f16(const Blas& blas) {
  Problem p(512, 512, 512, half_value);
  for (const bool example : {false, true}) {
    Gemm fast = Gemm::make(p, Machine::open("gfx942", 1, true), example), exact = Gemm::make(p, Machine::open("gfx942", 1, false), example);
    const auto t = interleaved({[&] { p.by(blas); }, [&] { fast.run(); }, [&] { exact.run(); }});
    if (!p.agrees(p.c, 1e-5) || !p.agrees(fast.result(), 1e-5) || !p.agrees(exact.result(), 1e-5)) give_up("gemm: wrong result");
    const std::string name = example ? "examples/kernels/gemm.c" : "gemm_f16_lds.c";
    const auto rate = [&](double s) { return fmt::format("{:.1f} Gflop/s; sgemm {:.1f}", 2e-9 * 512 * 512 * 512 / s, 2e-9 * 512 * 512 * 512 / t[0]); };
    rows.push_back({name + " 512^3, fast", "rate over sgemm's", "OpenBLAS sgemm, one thread", t[1], t[0], t[0] / t[1], 0.40, false, rate(t[1])});
    rows.push_back({name + " 512^3, exact", "rate over sgemm's", "OpenBLAS sgemm, one thread", t[2], t[0], t[0] / t[2], 0.08, false, rate(t[2])});
  }
}

using Fp8 = num::fp8;
float fp8_value(std::mt19937& random) { return Fp8::from_float(std::uniform_real_distribution<float>(-2.0f, 2.0f)(random)).to_float(); }

void gemm_fp8() {
  Problem p(1024, 1024, 1024, fp8_value);
  Machine machine = Machine::open("gfx950", 1, false);
  std::vector<std::uint8_t> ha(p.a.size()), hb(p.b.size());
  for (std::size_t i = 0; i < ha.size(); ++i) ha[i] = static_cast<std::uint8_t>(Fp8::from_float(p.a[i]).bits);
  for (std::size_t r = 0; r < p.k; ++r)
    for (std::size_t j = 0; j < p.n; ++j) hb[j * p.k + r] = static_cast<std::uint8_t>(Fp8::from_float(p.b[r * p.n + j]).bits);
  const Buffer a = machine.buffer(ha.size()), b = machine.buffer(hb.size()), c = machine.buffer(p.c.size() * 4);
  need(a.write(ha), "write");
  need(b.write(hb), "write");
  auto dispatch = prepare(machine, machine.kernel("bench_gemm_fp8_lds", "gemm_fp8_lds"), {.grid = {8 * 256, 4}, .group = {256}, .barrier = Barrier::on}, c, a, b, p.m, p.n, p.k);
  const auto t = interleaved({[&] { machine.run(dispatch.packet()); }});
  if (!p.agrees(c.as<float>(), 1e-4)) give_up("fp8 gemm: wrong result");
  rows.push_back({"gemm_fp8_lds.c 1024^3 on gfx950, exact", "seconds", "none", t[0], 0, t[0], 0.35, true, fmt::format("{:.1f} Gflop/s", 2e-9 * 1024 * 1024 * 1024 / t[0])});
}

// --- memory

void copy() {
  constexpr std::size_t kBytes = 256u << 20;
  Machine machine = Machine::open("gfx942", 1, false);
  const Buffer from = machine.buffer(kBytes), to = machine.buffer(kBytes);
  std::mt19937_64 random(std::random_device{}());
  for (std::uint64_t& v : from.as<std::uint64_t>()) v = random();
  std::vector<std::byte> host_from(from.host().begin(), from.host().end()), host_to(kBytes);
  auto dispatch = prepare(machine, machine.kernel("bench_copy", "copy_dwordx4"), {.grid = {static_cast<std::uint32_t>(kBytes / 16 / 64)}, .group = {256}, .barrier = Barrier::on}, to, from);
  const auto t = interleaved({[&] { std::memcpy(host_to.data(), host_from.data(), kBytes); asm volatile("" : : "g"(host_to.data()) : "memory"); }, [&] { machine.run(dispatch.packet()); }});
  if (std::memcmp(to.host().data(), from.host().data(), kBytes) != 0) give_up("copy: wrong result");
  const auto rate = [&](double s) { return static_cast<double>(kBytes) / s / 1e9; };
  rows.push_back({"copy of 256 MiB, dwordx4", "rate over memcpy's", "host memcpy, one thread", t[1], t[0], t[0] / t[1], 0.30, false, fmt::format("{:.1f} GB/s; memcpy {:.1f}", rate(t[1]), rate(t[0]))});
}

void workers() {
  Problem p(4096, 512, 512, half_value); // 64 groups: what one worker has left when the other is done weighs little
  Gemm one = Gemm::make(p, Machine::open("gfx942", 1, false), false), two = Gemm::make(p, Machine::open("gfx942", 2, false), false);
  // Processor time says what the second worker costs even where both cores are not free.
  double cpu_one = 0, cpu_two = 0;
  const auto measured = [](Gemm& gemm, double& cpu) {
    const double start = processor_time();
    gemm.run();
    cpu += processor_time() - start;
  };
  const auto t = interleaved({[&] { measured(one, cpu_one); }, [&] { measured(two, cpu_two); }}, true);
  if (!std::ranges::equal(one.result(), two.result())) give_up("workers: results differ");
  rows.push_back({"two workers, gemm_f16_lds.c 4096x512x512, exact", "rate over one's", "one worker", t[1], t[0], t[0] / t[1], 1.8, false,
                  fmt::format("wall time; processor time of two {:.2f} of one's", cpu_two / cpu_one)});
}

void print() {
  if (options.json) {
    nlohmann::json all = nlohmann::json::array();
    for (const Row& r : rows) {
      all.push_back({{"name", r.name}, {"measure", r.measure}, {"rival", r.rival}, {"seconds", r.ours}, {"rival_seconds", r.theirs}, {"reached", r.reached}, {"target", r.target},
                     {"at_most", r.less_is_better}, {"met", r.good()}, {"note", r.note}});
    }
    fmt::print("{}\n", nlohmann::json{{"clock", options.cpu_time ? "cpu" : "wall"}, {"repeat", options.repeat}, {"rows", all}}.dump(2));
    return;
  }
  fmt::print("{:<48} {:>9} {:>9}     {:<24} {}\n", "", "target", "reached", "measure", "");
  for (const Row& r : rows) {
    fmt::print("{:<48} {:>2} {:>6.2f} {:>9.3f} {:<3} {:<24} {}\n", r.name, r.less_is_better ? "<=" : ">=", r.target, r.reached, r.good() ? "ok" : "-", r.measure, r.note);
  }
  fmt::print("medians of {} interleaved runs, {} time\n", options.repeat, options.cpu_time ? "processor" : "wall");
}

} // namespace

int main(int argc, char** argv) {
  for (int n = 1; n < argc; ++n) {
    const std::string_view arg = argv[n];
    const bool more = n + 1 < argc;
    if (arg == "--json") options.json = true;
    else if (arg == "--cpu-time") options.cpu_time = true;
    else if (arg == "--repeat" && more) options.repeat = std::max(1u, static_cast<unsigned>(std::strtoul(argv[++n], nullptr, 10)));
    else if (arg == "--only" && more) options.only = argv[++n];
    else if (arg == "--kernels" && more) options.kernels = argv[++n];
    else return std::fprintf(stderr, "usage: bench_isa [--json] [--cpu-time] [--repeat N] [--only valu|gemm|fp8|copy|workers] [--kernels DIR]\n"), 2;
  }
  if (wanted("valu")) valu();
  if (wanted("gemm")) {
    const Blas blas;
    if (blas.sgemm == nullptr) std::fprintf(stderr, "bench_isa: no libopenblas.so.0, so no rows about f16 matrix products\n");
    else gemm_f16(blas);
  }
  if (wanted("fp8")) gemm_fp8();
  if (wanted("copy")) copy();
  if (wanted("workers")) workers();
  print();
}
