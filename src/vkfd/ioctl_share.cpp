// KFD ioctls that share buffers: dma-buf descriptors and inter-process handles. A dma-buf is a descriptor of the memory file
// whose position is the buffer's offset; a handle names the process, its descriptor and the offset.

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

#include "vkfd/export_directory.hpp"
#include "vkfd/ioctl_table.hpp"
#include "vkfd/note.hpp"
#include "vkfd/process.hpp"

namespace aql::vkfd {
namespace {

constexpr std::uint32_t kHandleMagic = 0x61716c31; // "aql1"

struct OpenFile {
  int fd = -1;
  explicit OpenFile(int f) : fd(f) {}
  ~OpenFile() {
    if (fd >= 0) close(fd);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
};

// Puts a buffer on the list of those that others may see, where it stays: its memory is not used again.
int publish(Process& process, std::uint64_t handle, Bo& out) {
  const auto bo = process.memory().keep_pages(handle);
  if (!bo) return refuse(-EINVAL, "no buffer of this process's device has the handle {:#x}", handle);
  GpuContext& gpu = *process.gpus()[bo->gpu];
  if (!ExportDirectory::enter(gpu.memory, {bo->offset, bo->size, bo->flags, gpu.id.gpu_id}))
    return refuse(-ENOMEM, "the list of exported buffers is full");
  out = *bo;
  return 0;
}

int adopt(Process& process, std::shared_ptr<OpenFile> file, const ExportedBuffer& buffer, std::uint32_t gpu_id, std::uint64_t va,
          std::uint64_t& handle, std::uint64_t& mmap_offset) {
  GpuContext* gpu = process.gpu(gpu_id);
  if (gpu == nullptr) return refuse(-EINVAL, "no GPU has the id {}", gpu_id);
  if (va % kPage != 0) return refuse(-EINVAL, "the address {:#x} is not page-aligned", va);
  Bo bo;
  bo.gpu = gpu->index;
  bo.flags = buffer.flags;
  bo.va = va;
  bo.size = buffer.size;
  bo.view = std::make_shared<const View>(file->fd, buffer.offset, buffer.size);
  if (!*bo.view) return refuse(-ENOMEM, "the host refuses to map {} bytes", buffer.size);
  bo.host = bo.view->get();
  bo.imported_fd = file->fd;
  bo.imported_offset = buffer.offset;
  bo.imported = std::move(file);
  handle = process.memory().adopt(std::move(bo), mmap_offset);
  return 0;
}

} // namespace

int export_dmabuf(Process& process, void* arguments, std::size_t caller_size) {
  auto& args = *static_cast<kfd::ExportDmabufArgs*>(arguments);
  if (caller_size < sizeof args)
    return refuse(-EINVAL, "{} bytes of arguments have no room for the descriptor; {} are needed", caller_size, sizeof args);
  Bo bo;
  if (const int error = publish(process, args.handle, bo); error != 0) return error;
  const int fd = process.gpus()[bo.gpu]->memory.open_again(static_cast<int>(args.flags));
  if (fd < 0) return refuse(-errno, "no descriptor");
  if (lseek(fd, static_cast<off_t>(bo.offset), SEEK_SET) < 0) {
    close(fd);
    return refuse(-EOPNOTSUPP, "the host gives no descriptor with a position of its own");
  }
  args.dmabuf_fd = static_cast<std::uint32_t>(fd);
  return 0;
}

// The buffer that a dma-buf descriptor stands for, by its position; nothing if it is no descriptor of ours.
auto exported_buffer(int fd) {
  const off_t offset = lseek(fd, 0, SEEK_CUR);
  return offset > 0 ? ExportDirectory::look_up(fd, static_cast<std::uint64_t>(offset)) : std::nullopt;
}

int get_dmabuf_info(Process& process, kfd_ioctl_get_dmabuf_info_args& args) {
  const int fd = static_cast<int>(args.dmabuf_fd);
  const auto buffer = exported_buffer(fd);
  if (!buffer) return refuse(-EINVAL, "descriptor {} is no buffer of a virtual GPU", fd);
  if (process.gpu(buffer->gpu_id) == nullptr)
    return refuse(-ENODEV, "the buffer is of GPU {}, which this process does not have", buffer->gpu_id);
  args.size = buffer->size;
  args.gpu_id = buffer->gpu_id;
  args.flags = buffer->flags;
  args.metadata_size = 0;
  return 0;
}

int import_dmabuf(Process& process, kfd_ioctl_import_dmabuf_args& args) {
  const int fd = static_cast<int>(args.dmabuf_fd);
  const auto buffer = exported_buffer(fd);
  if (!buffer) return refuse(-EINVAL, "descriptor {} is no buffer of a virtual GPU", fd);
  auto own = std::make_shared<OpenFile>(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (own->fd < 0) return refuse(-errno, "no descriptor");
  std::uint64_t handle = 0, unused = 0;
  const int error = adopt(process, std::move(own), *buffer, args.gpu_id, args.va_addr, handle, unused);
  args.handle = handle;
  return error;
}

int ipc_export_handle(Process& process, kfd::IpcExportHandleArgs& args) {
  Bo bo;
  if (const int error = publish(process, args.handle, bo); error != 0) return error;
  args.share_handle[0] = kHandleMagic;
  args.share_handle[1] = static_cast<std::uint32_t>(getpid());
  args.share_handle[2] = static_cast<std::uint32_t>(process.gpus()[bo.gpu]->memory.fd());
  args.share_handle[3] = static_cast<std::uint32_t>(bo.offset / kPage); // offsets stay below 2^44
  return 0;
}

int ipc_import_handle(Process& process, kfd::IpcImportHandleArgs& args) {
  if (args.share_handle[0] != kHandleMagic) return refuse(-EINVAL, "the handle is none of a virtual GPU");
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%u/fd/%u", args.share_handle[1], args.share_handle[2]);
  auto file = std::make_shared<OpenFile>(open(path, O_RDWR | O_CLOEXEC));
  if (file->fd < 0) return refuse(-EINVAL, "the exporting process {} is gone or belongs to another user", args.share_handle[1]);
  const auto buffer = ExportDirectory::look_up(file->fd, args.share_handle[3] * kPage);
  if (!buffer) return refuse(-EINVAL, "process {} exports no such buffer", args.share_handle[1]);
  args.flags = buffer->flags;
  return adopt(process, std::move(file), *buffer, args.gpu_id, args.va_addr, args.handle, args.mmap_offset);
}

} // namespace aql::vkfd
