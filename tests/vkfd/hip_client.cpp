// A HIP program, as other people write them, on the distribution's unmodified libamdhip64: module API with a version-4 code
// object. CTest runs it under `aql vgpu`. usage: hip_client KERNEL-DIRECTORY

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <unistd.h>

#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>

// What hipcc makes of a translation unit: a bundle of code objects, and host functions that stand for its kernels. HIP 5.2 puts
// only such kernels into graphs.
extern "C" void** __hipRegisterFatBinary(const void* data);
extern "C" void __hipRegisterFunction(void** modules, const void* host_function, char* device_function, const char* device_name,
                                      unsigned thread_limit, void* tid, void* bid, dim3* block, dim3* grid, int* warp_size);

namespace {

void check(hipError_t error, const char* what, int line) {
  if (error == hipSuccess) return;
  std::printf("line %d: %s gave %d: %s\n", line, what, error, hipGetErrorString(error));
  std::fflush(stdout);
  _exit(1);
}
#define HIP(x) check((x), #x, __LINE__)
#define REQUIRE(x)                                                                                                                 \
  do {                                                                                                                             \
    if (!(x)) {                                                                                                                    \
      std::printf("line %d: not true: %s\n", __LINE__, #x);                                                                        \
      std::fflush(stdout);                                                                                                         \
      _exit(1);                                                                                                                    \
    }                                                                                                                              \
  } while (false)

template <class T>
T* device(std::size_t count) {
  void* p = nullptr;
  HIP(hipMalloc(&p, count * sizeof(T)));
  return static_cast<T*>(p);
}

// Arguments as one buffer, which hipModuleLaunchKernel takes.
struct Arguments {
  char bytes[256]{};
  std::size_t size = 0;
  template <class T>
  Arguments& add(T value) {
    size = (size + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    std::memcpy(bytes + size, &value, sizeof value);
    size += sizeof(T);
    return *this;
  }
};

void launch(hipFunction_t kernel, unsigned grid_x, unsigned grid_y, unsigned block, Arguments& arguments, hipStream_t stream) {
  void* config[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, arguments.bytes, HIP_LAUNCH_PARAM_BUFFER_SIZE, &arguments.size,
                    HIP_LAUNCH_PARAM_END};
  HIP(hipModuleLaunchKernel(kernel, grid_x, grid_y, 1, block, 1, 1, 0, stream, nullptr, config));
}

hipFunction_t function(hipModule_t module, const char* name) {
  hipFunction_t f;
  HIP(hipModuleGetFunction(&f, module, name));
  return f;
}

void copies() {
  constexpr std::size_t n = 300'000;
  std::vector<std::uint32_t> in(n), out(n);
  for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<std::uint32_t>(i * 2654435761u);
  auto* a = device<std::uint32_t>(n);
  auto* b = device<std::uint32_t>(n);
  HIP(hipMemcpy(a, in.data(), n * 4, hipMemcpyHostToDevice));
  HIP(hipMemcpy(b, a, n * 4, hipMemcpyDeviceToDevice));
  HIP(hipMemcpy(out.data(), b, n * 4, hipMemcpyDeviceToHost));
  REQUIRE(in == out);
  // A 100 x 60 byte window of pitched memory, both ways and between devices.
  constexpr std::size_t width = 100, height = 60, pitch = 256;
  std::vector<unsigned char> from(pitch * height), to(pitch * height, 0xee);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 7);
  auto* p = device<unsigned char>(pitch * height);
  auto* q = device<unsigned char>(pitch * height);
  HIP(hipMemset(p, 0x11, pitch * height));
  HIP(hipMemset(q, 0x22, pitch * height));
  HIP(hipMemcpy2D(p, pitch, from.data(), pitch, width, height, hipMemcpyHostToDevice));
  HIP(hipMemcpy2D(q, 128, p, pitch, width, height, hipMemcpyDeviceToDevice));
  HIP(hipMemcpy2D(to.data(), pitch, q, 128, width, height, hipMemcpyDeviceToHost));
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < pitch; ++x) REQUIRE(to[y * pitch + x] == (x < width ? from[y * pitch + x] : 0xee));
  }
  unsigned char beside = 0;
  HIP(hipMemcpy(&beside, p + width, 1, hipMemcpyDeviceToHost));
  REQUIRE(beside == 0x11);
  HIP(hipFree(p));
  HIP(hipFree(q));
  HIP(hipFree(a));
  HIP(hipFree(b));
}

void memsets() {
  constexpr std::size_t n = 10'007;
  auto* a = device<unsigned char>(n);
  std::vector<unsigned char> out(n);
  HIP(hipMemset(a, 0x5a, n));
  HIP(hipMemset(a + 3, 0xa5, 1001));
  HIP(hipMemcpy(out.data(), a, n, hipMemcpyDeviceToHost));
  for (std::size_t i = 0; i < n; ++i) REQUIRE(out[i] == (i >= 3 && i < 1004 ? 0xa5 : 0x5a));
  HIP(hipMemsetD32(reinterpret_cast<hipDeviceptr_t>(a), 0x01020304, 100));
  HIP(hipMemcpy(out.data(), a, 400, hipMemcpyDeviceToHost));
  for (std::size_t i = 0; i < 400; ++i) REQUIRE(out[i] == 4 - i % 4);
  HIP(hipFree(a));
}

void streams_and_events(hipModule_t basics) {
  const hipFunction_t scale = function(basics, "scale_add");
  constexpr unsigned n = 4096, kStreams = 4;
  hipStream_t streams[kStreams];
  unsigned* x[kStreams];
  void* pinned = nullptr;
  HIP(hipHostMalloc(&pinned, n * 4 * kStreams, 0));
  auto* host = static_cast<unsigned*>(pinned);
  hipEvent_t begin, end;
  HIP(hipEventCreate(&begin));
  HIP(hipEventCreate(&end));
  for (unsigned s = 0; s < kStreams; ++s) {
    HIP(hipStreamCreate(&streams[s]));
    x[s] = device<unsigned>(n);
    for (unsigned i = 0; i < n; ++i) host[s * n + i] = s * 1000 + i;
  }
  HIP(hipEventRecord(begin, streams[0]));
  for (unsigned s = 0; s < kStreams; ++s) {
    HIP(hipMemcpyAsync(x[s], host + s * n, n * 4, hipMemcpyHostToDevice, streams[s]));
    Arguments arguments;
    arguments.add(x[s]).add(n).add(3u).add(10u + s);
    launch(scale, n / 256, 1, 256, arguments, streams[s]);
  }
  HIP(hipEventRecord(end, streams[0]));
  // Stream 1 goes on only after stream 0, and adds a round to stream 0's numbers.
  HIP(hipStreamWaitEvent(streams[1], end, 0));
  Arguments again;
  again.add(x[0]).add(n).add(3u).add(1u);
  launch(scale, n / 256, 1, 256, again, streams[1]);
  HIP(hipStreamSynchronize(streams[1]));
  for (unsigned s = 0; s < kStreams; ++s) {
    HIP(hipMemcpyAsync(host + s * n, x[s], n * 4, hipMemcpyDeviceToHost, streams[s]));
    HIP(hipStreamSynchronize(streams[s]));
    for (unsigned i = 0; i < n; ++i) {
      unsigned v = s * 1000 + i;
      for (unsigned r = 0; r < (s == 0 ? 11 : 10 + s); ++r) v = v * 3 + 1;
      REQUIRE(host[s * n + i] == v);
    }
    HIP(hipStreamDestroy(streams[s]));
    HIP(hipFree(x[s]));
  }
  HIP(hipEventSynchronize(end));
  float ms = -1;
  HIP(hipEventElapsedTime(&ms, begin, end));
  REQUIRE(ms >= 0);
  HIP(hipEventDestroy(begin));
  HIP(hipEventDestroy(end));
  HIP(hipHostFree(pinned));
}

void scale_add_stub() {}
const void* const kScaleAdd = reinterpret_cast<const void*>(&scale_add_stub);

void register_kernels(const std::string& bundle) {
  std::FILE* file = std::fopen(bundle.c_str(), "rb");
  REQUIRE(file != nullptr);
  alignas(4096) static char bytes[1 << 20];
  REQUIRE(std::fread(bytes, 1, sizeof bytes, file) > 0);
  std::fclose(file);
  static const struct {
    unsigned magic = 0x48495046, version = 1; // "HIPF"
    const void* binary = bytes;
    void* unused = nullptr;
  } wrapper;
  void** modules = __hipRegisterFatBinary(&wrapper);
  static char name[] = "scale_add";
  __hipRegisterFunction(modules, kScaleAdd, name, name, ~0u, nullptr, nullptr, nullptr, nullptr, nullptr);
}

void graphs() {
  constexpr unsigned n = 512;
  auto* x = device<unsigned>(n);
  std::vector<unsigned> host(n, 1), out(n);
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  hipGraph_t graph;
  HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  unsigned items = n, factor = 5, rounds = 2;
  void* parameters[] = {&x, &items, &factor, &rounds};
  HIP(hipMemcpyAsync(x, host.data(), n * 4, hipMemcpyHostToDevice, stream));
  for (int i = 0; i < 3; ++i) HIP(hipLaunchKernel(kScaleAdd, dim3{n / 64}, dim3{64}, parameters, 0, stream));
  HIP(hipMemcpyAsync(out.data(), x, n * 4, hipMemcpyDeviceToHost, stream));
  HIP(hipStreamEndCapture(stream, &graph));
  hipGraphExec_t exec;
  HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  unsigned expected = 1;
  for (int r = 0; r < 6; ++r) expected = expected * 5 + 1;
  for (int run = 0; run < 3; ++run) {
    std::fill(out.begin(), out.end(), 0u);
    HIP(hipGraphLaunch(exec, stream));
    HIP(hipStreamSynchronize(stream));
    for (unsigned i = 0; i < n; ++i) {
      if (out[i] != expected) std::printf("run %d, %u: %u, not %u\n", run, i, out[i], expected);
      REQUIRE(out[i] == expected);
    }
  }
  HIP(hipGraphExecDestroy(exec));
  HIP(hipGraphDestroy(graph));
  HIP(hipStreamDestroy(stream));
  HIP(hipFree(x));
}

// Small integers, so that every order of sums gives the same floats.
void matrix_product(hipModule_t gemm) {
  const hipFunction_t kernel = function(gemm, "gemm_f16");
  constexpr unsigned m = 150, n = 130, k = 72;
  std::vector<_Float16> a(m * k), b(n * k);
  for (unsigned i = 0; i < a.size(); ++i) a[i] = static_cast<_Float16>(static_cast<int>(i * 7 % 11) - 5);
  for (unsigned i = 0; i < b.size(); ++i) b[i] = static_cast<_Float16>(static_cast<int>(i * 5 % 13) - 6);
  auto* da = device<_Float16>(a.size());
  auto* db = device<_Float16>(b.size());
  auto* dc = device<float>(m * n);
  HIP(hipMemcpy(da, a.data(), a.size() * 2, hipMemcpyHostToDevice));
  HIP(hipMemcpy(db, b.data(), b.size() * 2, hipMemcpyHostToDevice));
  Arguments arguments;
  arguments.add(da).add(db).add(dc).add(m).add(n).add(k);
  launch(kernel, (n + 127) / 128, (m + 127) / 128, 256, arguments, nullptr);
  std::vector<float> c(m * n);
  HIP(hipMemcpy(c.data(), dc, c.size() * 4, hipMemcpyDeviceToHost));
  for (unsigned i = 0; i < m; ++i) {
    for (unsigned j = 0; j < n; ++j) {
      float sum = 0;
      for (unsigned x = 0; x < k; ++x) sum += static_cast<float>(a[i * k + x]) * static_cast<float>(b[j * k + x]);
      REQUIRE(c[i * n + j] == sum);
    }
  }
  HIP(hipFree(da));
  HIP(hipFree(db));
  HIP(hipFree(dc));
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string kernels = argv[1];
  register_kernels(kernels + "/vkfd_basics.bundle");
  int count = 0;
  HIP(hipGetDeviceCount(&count));
  REQUIRE(count >= 1);
  hipDeviceProp_t properties;
  HIP(hipGetDeviceProperties(&properties, 0));
  REQUIRE(std::string{properties.gcnArchName}.starts_with("gfx90a"));
  REQUIRE(properties.multiProcessorCount == 104);
  REQUIRE(properties.warpSize == 64);
  hipModule_t basics, gemm;
  HIP(hipModuleLoad(&basics, (kernels + "/vkfd_basics.gfx90a.co").c_str()));
  HIP(hipModuleLoad(&gemm, (kernels + "/vkfd_gemm.gfx90a.co").c_str()));
  copies();
  memsets();
  streams_and_events(basics);
  graphs();
  matrix_product(gemm);
  HIP(hipModuleUnload(basics));
  HIP(hipModuleUnload(gemm));
  HIP(hipDeviceSynchronize());
  std::printf("all results are right\n");
  return 0;
}
