#include "ioctl_harness.hpp"

#include <atomic>
#include <thread>

#include <unistd.h>

#include "sim/mem/address_map.hpp"
#include "vkfd/export_directory.hpp"

using namespace aql;
using namespace aql::test;

TEST_CASE("ioctl: an unknown number is ENOTTY, a pointer that leads nowhere is EFAULT") {
  VirtualKfd kfd;
  kfd_ioctl_get_version_args version{};
  CHECK(kfd.call(_IOWR('K', 0x7f, kfd_ioctl_get_version_args), version) == -ENOTTY);
  CHECK(vkfd::kfd_ioctl(*kfd.process, AMDKFD_IOC_GET_VERSION, 8) == -EFAULT);
  CHECK(vkfd::kfd_ioctl(*kfd.process, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, 0) == -EFAULT);
  REQUIRE(kfd.call(AMDKFD_IOC_GET_VERSION, version) == 0);
  CHECK(version.major_version == 1);
  CHECK(version.minor_version >= 14);
}

TEST_CASE("ioctl: every row names a number once") {
  const auto rows = vkfd::ioctl_rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = i + 1; j < rows.size(); ++j) CHECK(rows[i].nr != rows[j].nr);
    CHECK(rows[i].size <= vkfd::kMaxIoctlBytes);
  }
  // All that linux/kfd_ioctl.h of interface 1.11 has.
  for (unsigned nr = AMDKFD_COMMAND_START; nr < AMDKFD_COMMAND_END; ++nr) CHECK(vkfd::find_ioctl(nr) != nullptr);
}

TEST_CASE("ioctl: a caller with a shorter argument block gets that much, and not a byte more") {
  VirtualKfd kfd;
  struct {
    std::uint32_t major = 0, beyond = 0x5555;
  } half;
  REQUIRE(vkfd::kfd_ioctl(*kfd.process, _IOC(_IOC_READ, 'K', 0x01, 4), reinterpret_cast<std::uint64_t>(&half)) == 0);
  CHECK(half.major == 1);
  CHECK(half.beyond == 0x5555);
}

TEST_CASE("memory: permissions are the allocation's flags") {
  VirtualKfd kfd;
  const auto plain = kfd.allocate(kVa, 8192, kVram), code = kfd.allocate(kVa + 0x10000, 4096, kVram | kWritable | kExecutable);
  REQUIRE(kfd.map(plain.handle) == 0);
  REQUIRE(kfd.map(code.handle) == 0);
  CHECK(kfd.device_view(kVa, 8192, sim::kRead) != nullptr);
  CHECK(kfd.device_view(kVa, 8192, sim::kWrite) == nullptr);
  CHECK(kfd.device_view(kVa, 8192, sim::kExecute) == nullptr);
  CHECK(kfd.device_view(kVa + 0x10000, 4096, sim::kRead | sim::kWrite | sim::kExecute) != nullptr);
  CHECK(kfd.device_view(kVa, 8193, sim::kRead) == nullptr);
}

TEST_CASE("memory: what the program maps at the buffer's offset is what the device sees, and it is zero when new") {
  VirtualKfd kfd;
  for (int round = 0; round < 2; ++round) {
    const auto buffer = kfd.allocate(kVa, 4096, kVram | kWritable);
    REQUIRE(kfd.map(buffer.handle) == 0);
    const auto& file = kfd.process->gpus()[0]->memory;
    void* view = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), static_cast<off_t>(buffer.mmap_offset));
    REQUIRE(view != MAP_FAILED);
    auto* device = kfd.device_view(kVa, 4096, sim::kWrite);
    CHECK(*device == std::byte{0});
    *device = std::byte{42};
    CHECK(*static_cast<std::byte*>(view) == std::byte{42});
    munmap(view, 4096);
    CHECK(kfd.free(buffer.handle) == -EBUSY);
    REQUIRE(kfd.map(buffer.handle, false) == 0);
    REQUIRE(kfd.free(buffer.handle) == 0);
    CHECK(kfd.device_view(kVa, 4096, sim::kRead) == nullptr);
  }
}

TEST_CASE("memory: the card's memory ends") {
  VirtualKfd kfd;
  kfd_ioctl_get_available_memory_args available{};
  available.gpu_id = kfd.gpu_id;
  REQUIRE(kfd.call(AMDKFD_IOC_AVAILABLE_MEMORY, available) == 0);
  CHECK(available.available == 64ull << 30);
  const auto most = kfd.allocate(kVa, 63ull << 30, kVram);
  (void)kfd.allocate(kVa + (1ull << 40), 2ull << 30, kVram, -ENOMEM);
  REQUIRE(kfd.free(most.handle) == 0);
  (void)kfd.allocate(kVa + (1ull << 40), 2ull << 30, kVram);
}

TEST_CASE("memory: arguments that make no sense are refused") {
  VirtualKfd kfd;
  (void)kfd.allocate(kVa, 0, kVram, -EINVAL);
  (void)kfd.allocate(kVa + 1, 4096, kVram, -EINVAL);
  (void)kfd.allocate(kVa, 4096, 0, -EINVAL);
  (void)kfd.allocate(kVa, 4096, kVram | kUser, -EINVAL);
  (void)kfd.allocate(1ull << 47, 4096, kVram, -EINVAL);
  (void)kfd.allocate(kVa, 4096, kUser, -EFAULT, 0x1000);
  const auto first = kfd.allocate(kVa, 8192, kVram), second = kfd.allocate(kVa + 4096, 4096, kVram);
  REQUIRE(kfd.map(first.handle) == 0);
  CHECK(kfd.map(second.handle) == -EINVAL); // overlaps
  CHECK(kfd.map(12345) == -EINVAL);
  CHECK(kfd.free(12345) == -EINVAL);
}

TEST_CASE("memory: the program's own memory is seen at another address, and no more once the program gives it back") {
  VirtualKfd kfd;
  Pages pages{8192};
  const auto buffer = kfd.allocate(kVa, 8192, kUser | kWritable, 0, pages.address());
  REQUIRE(kfd.map(buffer.handle) == 0);
  *static_cast<unsigned char*>(pages.base) = 9;
  CHECK(*kfd.device_view(kVa, 1, sim::kWrite) == std::byte{9});
  kfd.process->host_range_gone(pages.address() + 4096, pages.address() + 8192);
  CHECK(kfd.device_view(kVa, 1, sim::kRead) == nullptr);
  CHECK(kfd.map(buffer.handle) == -EFAULT);
  CHECK(kfd.free(buffer.handle) == 0);
}

TEST_CASE("memory: read-only pages of the program cannot be given for writing") {
  VirtualKfd kfd;
  Pages pages{4096};
  REQUIRE(mprotect(pages.base, 4096, PROT_READ) == 0);
  (void)kfd.allocate(kVa, 4096, kUser | kWritable, -EFAULT, pages.address());
  (void)kfd.allocate(kVa, 4096, kUser, 0, pages.address());
}

TEST_CASE("svm: access, flags and splits") {
  VirtualKfd kfd;
  Pages pages{4 * 4096};
  SvmCall svm{kfd};
  const kfd_ioctl_svm_attribute* attributes = svm.attributes;
  const auto whole = pages.address(), second = whole + 4096;
  REQUIRE(svm(KFD_IOCTL_SVM_OP_SET_ATTR, whole, pages.size, {KFD_IOCTL_SVM_ATTR_ACCESS, kfd.gpu_id},
              {KFD_IOCTL_SVM_ATTR_GRANULARITY, 4}) == 0);
  CHECK(kfd.device_view(whole, pages.size, sim::kRead | sim::kWrite) == static_cast<std::byte*>(pages.base));
  CHECK(kfd.device_view(whole, 4, sim::kExecute) == nullptr);
  REQUIRE(svm(KFD_IOCTL_SVM_OP_SET_ATTR, second, 4096, {KFD_IOCTL_SVM_ATTR_SET_FLAGS, KFD_IOCTL_SVM_FLAG_GPU_RO},
              {KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, kfd.gpu_id}) == 0);
  CHECK(kfd.device_view(second, 4096, sim::kRead) != nullptr);
  CHECK(kfd.device_view(second, 4096, sim::kWrite) == nullptr);
  CHECK(kfd.device_view(whole, 4096, sim::kWrite) != nullptr);
  CHECK(kfd.device_view(second + 4096, 8192, sim::kWrite) != nullptr);
  REQUIRE(svm(KFD_IOCTL_SVM_OP_GET_ATTR, whole, pages.size, {KFD_IOCTL_SVM_ATTR_ACCESS, kfd.gpu_id},
              {KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, 0}) == 0);
  CHECK(attributes[0].type == KFD_IOCTL_SVM_ATTR_ACCESS);
  CHECK(attributes[1].value == 0xffffffffu); // differs between pages
  REQUIRE(svm(KFD_IOCTL_SVM_OP_SET_ATTR, whole, pages.size, {KFD_IOCTL_SVM_ATTR_NO_ACCESS, kfd.gpu_id},
              {KFD_IOCTL_SVM_ATTR_GRANULARITY, 5}) == 0);
  CHECK(kfd.device_view(whole, 4, sim::kRead) == nullptr);
  CHECK(svm(KFD_IOCTL_SVM_OP_SET_ATTR, whole, 100, {KFD_IOCTL_SVM_ATTR_ACCESS, kfd.gpu_id}, {KFD_IOCTL_SVM_ATTR_GRANULARITY, 4}) ==
        -EINVAL);
  CHECK(svm(KFD_IOCTL_SVM_OP_SET_ATTR, 0x1000, 4096, {KFD_IOCTL_SVM_ATTR_ACCESS, kfd.gpu_id},
            {KFD_IOCTL_SVM_ATTR_GRANULARITY, 4}) == -EFAULT);
  CHECK(svm(7, whole, 4096, {KFD_IOCTL_SVM_ATTR_ACCESS, kfd.gpu_id}, {KFD_IOCTL_SVM_ATTR_GRANULARITY, 4}) == -EINVAL);
  svm.args->nattr = 1000000;
  CHECK(kfd.call(SvmCall::kRequest, svm.block) == -EINVAL);
}

TEST_CASE("svm: flags of any thunk are taken, and what get writes is not looked at") {
  VirtualKfd kfd;
  Pages pages{2 * 4096};
  SvmCall svm{kfd};
  const auto whole = pages.address();
  constexpr std::uint32_t kSet = KFD_IOCTL_SVM_OP_SET_ATTR, kGet = KFD_IOCTL_SVM_OP_GET_ATTR, kExtCoherent = 0x80,
                          kExec = KFD_IOCTL_SVM_FLAG_GPU_EXEC, kReadOnly = KFD_IOCTL_SVM_FLAG_GPU_RO;
  // As the thunk registers memory: the flags it wants, and all others cleared.
  CHECK(svm(kSet, whole, 8192, {KFD_IOCTL_SVM_ATTR_SET_FLAGS, kExec | kExtCoherent},
            {KFD_IOCTL_SVM_ATTR_CLR_FLAGS, ~(kExec | kExtCoherent)}) == 0);
  CHECK(svm(kSet, whole, 4096, {KFD_IOCTL_SVM_ATTR_SET_FLAGS, kReadOnly}, {KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, kfd.gpu_id}) == 0);
  REQUIRE(svm(kGet, whole, 8192, {KFD_IOCTL_SVM_ATTR_SET_FLAGS, 12345}, {KFD_IOCTL_SVM_ATTR_CLR_FLAGS, 12345}) == 0);
  CHECK(svm.attributes[0].value == (kExec | kExtCoherent));
  CHECK(svm.attributes[1].value == ~(kExec | kExtCoherent | kReadOnly));
  REQUIRE(svm(kGet, whole, 4096, {KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, 1}, {KFD_IOCTL_SVM_ATTR_PREFETCH_LOC, 1}) == 0);
  CHECK(svm.attributes[0].value == kfd.gpu_id);
  CHECK(svm.attributes[1].value == 0xffffffffu);
  // A value that is looked at.
  const kfd_ioctl_svm_attribute granularity{KFD_IOCTL_SVM_ATTR_GRANULARITY, 9};
  CHECK(svm(kSet, whole, 8192, {KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, 1}, granularity) == -EINVAL);
  CHECK(svm(kSet, whole, 8192, {KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, 0xffffffffu}, granularity) == 0);
  CHECK(svm(kSet, whole, 8192, {KFD_IOCTL_SVM_ATTR_PREFETCH_LOC, 0xffffffffu}, granularity) == -EINVAL);
  CHECK(svm(kGet, whole, 8192, {KFD_IOCTL_SVM_ATTR_ACCESS, 1}, granularity) == -EINVAL);
  CHECK(svm(kGet, whole, 8192, {KFD_IOCTL_SVM_ATTR_NO_ACCESS, kfd.gpu_id}, granularity) == -EINVAL);
  CHECK(svm(kGet, whole, 8192, {99, 0}, granularity) == -EINVAL);
  CHECK(svm(kSet, whole, 8192, {99, 0}, granularity) == -EINVAL);
}

TEST_CASE("svm: what a GPU works on stays mapped while ranges are split and change their flags") {
  VirtualKfd kfd;
  Pages pages{4 * 4096};
  SvmCall svm{kfd};
  const auto whole = pages.address();
  const kfd_ioctl_svm_attribute access{KFD_IOCTL_SVM_ATTR_ACCESS, kfd.gpu_id};
  REQUIRE(svm(KFD_IOCTL_SVM_OP_SET_ATTR, whole, pages.size, access, access) == 0);
  std::atomic<bool> end{false};
  std::atomic<std::uint32_t> looks{0}, missed{0};
  std::thread gpu([&] {
    while (!end.load()) {
      for (std::uint64_t page = 0; page < 4; ++page) {
        if (kfd.device_view(whole + page * 4096, 4, sim::kRead) == nullptr) missed.fetch_add(1);
      }
      looks.fetch_add(1);
    }
  });
  for (std::uint32_t i = 0; i < 2000 || looks.load() < 1000; ++i) {
    const kfd_ioctl_svm_attribute readonly{(i / 4 & 1) != 0 ? KFD_IOCTL_SVM_ATTR_SET_FLAGS : KFD_IOCTL_SVM_ATTR_CLR_FLAGS,
                                           KFD_IOCTL_SVM_FLAG_GPU_RO};
    REQUIRE(svm(KFD_IOCTL_SVM_OP_SET_ATTR, whole + i % 4 * 4096, 4096, readonly, access) == 0);
  }
  end.store(true);
  gpu.join();
  CHECK(missed.load() == 0);
}

TEST_CASE("events: a process has one event page") {
  VirtualKfd kfd;
  const auto page = kfd.allocate(kVa, KFD_SIGNAL_EVENT_LIMIT * 8, kVram | kWritable),
             other = kfd.allocate(kVa + 0x100000, KFD_SIGNAL_EVENT_LIMIT * 8, kVram | kWritable);
  kfd_ioctl_create_event_args args{};
  args.event_page_offset = page.handle;
  args.event_type = KFD_IOC_EVENT_SIGNAL;
  REQUIRE(kfd.call(AMDKFD_IOC_CREATE_EVENT, args) == 0);
  args.event_page_offset = other.handle;
  CHECK(kfd.call(AMDKFD_IOC_CREATE_EVENT, args) == -EINVAL);
}

TEST_CASE("dma-buf: a descriptor names a buffer, which another import sees too") {
  VirtualKfd kfd;
  const auto buffer = kfd.allocate(kVa, 8192, kVram | kWritable);
  REQUIRE(kfd.map(buffer.handle) == 0);
  vkfd::kfd::ExportDmabufArgs exported{buffer.handle, 0, 0};
  // Without room for the descriptor's number nobody could ever close it.
  CHECK(kfd.call(_IOC(_IOC_READ | _IOC_WRITE, 'K', 0x24, 12), exported) == -EINVAL);
  REQUIRE(kfd.call(_IOWR('K', 0x24, vkfd::kfd::ExportDmabufArgs), exported) == 0);
  kfd_ioctl_get_dmabuf_info_args info{};
  info.dmabuf_fd = exported.dmabuf_fd;
  REQUIRE(kfd.call(AMDKFD_IOC_GET_DMABUF_INFO, info) == 0);
  CHECK(info.size == 8192);
  CHECK(info.gpu_id == kfd.gpu_id);
  kfd_ioctl_import_dmabuf_args imported{};
  imported.va_addr = kVa + 0x100000;
  imported.gpu_id = kfd.gpu_id;
  imported.dmabuf_fd = exported.dmabuf_fd;
  REQUIRE(kfd.call(AMDKFD_IOC_IMPORT_DMABUF, imported) == 0);
  close(static_cast<int>(exported.dmabuf_fd)); // the import keeps it
  REQUIRE(kfd.map(imported.handle) == 0);
  *kfd.device_view(kVa + 17, 1, sim::kWrite) = std::byte{3};
  CHECK(*kfd.device_view(kVa + 0x100000 + 17, 1, sim::kRead) == std::byte{3});
  imported.dmabuf_fd = static_cast<std::uint32_t>(kfd.process->kfd_file().fd());
  CHECK(kfd.call(AMDKFD_IOC_IMPORT_DMABUF, imported) == -EINVAL);
}

TEST_CASE("handles: what one process exports, another one finds by it") {
  VirtualKfd exporter, importer; // two devices' worth of state stand for two processes
  const auto buffer = exporter.allocate(kVa, 4096, kVram | kWritable);
  REQUIRE(exporter.map(buffer.handle) == 0);
  vkfd::kfd::IpcExportHandleArgs out{};
  out.handle = buffer.handle;
  REQUIRE(exporter.call(_IOWR('K', 0x81, vkfd::kfd::IpcExportHandleArgs), out) == 0);
  vkfd::kfd::IpcImportHandleArgs in{};
  std::copy_n(out.share_handle, 4, in.share_handle);
  in.gpu_id = importer.gpu_id;
  in.va_addr = kVa;
  REQUIRE(importer.call(_IOWR('K', 0x80, vkfd::kfd::IpcImportHandleArgs), in) == 0);
  REQUIRE(importer.map(in.handle) == 0);
  *exporter.device_view(kVa, 1, sim::kWrite) = std::byte{8};
  CHECK(*importer.device_view(kVa, 1, sim::kRead) == std::byte{8});
  const auto target = importer.process->memory().mmap_target(0, in.mmap_offset, 4096);
  REQUIRE(target);
  CHECK(target->fd >= 0);
  in.share_handle[3] += 1;
  CHECK(importer.call(_IOWR('K', 0x80, vkfd::kfd::IpcImportHandleArgs), in) == -EINVAL);
  in.share_handle[0] = 0;
  CHECK(importer.call(_IOWR('K', 0x80, vkfd::kfd::IpcImportHandleArgs), in) == -EINVAL);
}

TEST_CASE("devices: lists of names, and what is wrong with one") {
  CHECK(vkfd::parse_devices("gfx90a,MI300X,gfx950")->size() == 3);
  CHECK_FALSE(vkfd::parse_devices(""));
  CHECK_FALSE(vkfd::parse_devices("gfx90a,"
                                  "gfx9999"));
}

TEST_CASE("apertures: asked for without room, only their number is told") {
  VirtualKfd kfd{"gfx90a,gfx942"};
  kfd_ioctl_get_process_apertures_new_args args{};
  REQUIRE(kfd.call(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, args) == 0);
  REQUIRE(args.num_of_nodes == 2);
  kfd_process_device_apertures apertures[2]{};
  args.kfd_process_device_apertures_ptr = reinterpret_cast<std::uint64_t>(apertures);
  REQUIRE(kfd.call(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, args) == 0);
  CHECK(apertures[0].gpu_id != apertures[1].gpu_id);
  CHECK(apertures[0].lds_base != apertures[0].scratch_base);
  CHECK(apertures[1].gpuvm_limit >= (1ull << 47) - 1);
  args.kfd_process_device_apertures_ptr = 16;
  CHECK(kfd.call(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, args) == -EFAULT);
}
