// The SVM ioctl: its argument block has a variable number of attributes behind it, and its request number holds the whole size.

#include <cerrno>
#include <span>

#include "vkfd/ioctl_table.hpp"
#include "vkfd/note.hpp"
#include "vkfd/process.hpp"

namespace aql::vkfd {

int svm(Process& process, void* arguments, std::size_t caller_size) {
  auto& args = *static_cast<kfd_ioctl_svm_args*>(arguments);
  if (args.nattr > (kMaxIoctlBytes - sizeof args) / sizeof(kfd_ioctl_svm_attribute) ||
      sizeof args + args.nattr * sizeof(kfd_ioctl_svm_attribute) > caller_size) {
    return refuse(-EINVAL, "{} attributes do not fit the {} bytes of arguments", args.nattr, caller_size);
  }
  if (args.nattr == 0) return refuse(-EINVAL, "no attribute is named");
  const std::span<kfd_ioctl_svm_attribute> attributes{args.attrs, args.nattr};
  switch (args.op) {
  case KFD_IOCTL_SVM_OP_SET_ATTR: return process.svm().set(args.start_addr, args.size, attributes);
  case KFD_IOCTL_SVM_OP_GET_ATTR: return process.svm().get(args.start_addr, args.size, attributes);
  default: return refuse(-EINVAL, "SVM operation {} does not exist", args.op);
  }
}

} // namespace aql::vkfd
