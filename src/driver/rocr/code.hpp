#pragma once
// Code objects through the runtime's own loader, for runtimes that give executable memory to nobody else.
// Thread safety: any thread.

#include <map>
#include <mutex>

#include "driver/driver.hpp"
#include "driver/rocr/runtime.hpp"

namespace aql::detail::rocr {

class CodeLoader {
public:
  CodeLoader(const Runtime& runtime, const Agent& agent) : runtime_(runtime), api_(runtime.api()), agent_(agent) {}
  ~CodeLoader();

  Result<Allocation> load(const CodeRequest& request);
  Result<void> unload(const Allocation& allocation);

private:
  struct Loaded { // released in reverse order
    Loaded(const HsaApi& a) : api(a) {}
    Loaded(const Loaded&) = delete;
    Loaded& operator=(const Loaded&) = delete;
    ~Loaded();
    const HsaApi& api;
    std::vector<std::byte> file; // the reader refers to it
    hsa_code_object_reader_t reader{};
    hsa_executable_t executable{};
    bool have_reader = false, have_executable = false;
  };
  [[nodiscard]] Result<std::uint64_t> image_address(const Loaded& loaded, const CodeRequest& request) const;
  [[nodiscard]] Error refused(hsa_status_t status, const CodeRequest& request, const char* step) const;

  const Runtime& runtime_;
  const HsaApi& api_;
  const Agent& agent_;
  std::mutex mutex_;
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, std::unique_ptr<Loaded>> loaded_;
};

} // namespace aql::detail::rocr
