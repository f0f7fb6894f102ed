#include "sim/cp/profile.hpp"

#include <array>
#include <cctype>

namespace aql::sim {
namespace {

// Sources: XCD and CU counts, clocks and memory sizes from AMD's public data sheets; L1/L2 from the ISA guides; VGPR granule,
// waves and group slots from LLVM's AMDGPUSubtarget and clang's resource-usage remark. hw_queues is the num_cp_queues that KFD
// reports (24); timestamp_hz is the 100 MHz constant clock (s_memrealtime). Both are assumed equal on all three targets.
constexpr std::array<DeviceProfile, 7> kProfiles{{
    {"MI300X", "gfx942", Arch::gfx942, 90402, 8, 38,           4,  8,           512,   8,   102, 65536, 512, 16,
     1024,     131056,   2100,         32,    4, 192ULL << 30, 24, 100'000'000, false, true},
    {"MI300A", "gfx942", Arch::gfx942, 90402, 6, 38,           4,  8,           512,   8,   102, 65536, 512, 16,
     1024,     131056,   2100,         32,    4, 128ULL << 30, 24, 100'000'000, false, true},
    {"MI325X", "gfx942", Arch::gfx942, 90402, 8, 38,           4,  8,           512,   8,   102, 65536, 512, 16,
     1024,     131056,   2100,         32,    4, 256ULL << 30, 24, 100'000'000, false, true},
    {"MI210", "gfx90a", Arch::gfx90a, 90010,  1,    104, 4, 8,           512, 8,           102,   65536,
     512,     16,       1024,         131056, 1700, 16,  8, 64ULL << 30, 24,  100'000'000, false, true},
    {"MI250X", "gfx90a", Arch::gfx90a, 90010,  1,    110, 4, 8,           512, 8,           102,   65536,
     512,      16,       1024,         131056, 1700, 16,  8, 64ULL << 30, 24,  100'000'000, false, true},
    {"MI350X", "gfx950", Arch::gfx950, 90500, 8, 32,           4,  8,           512,   8,   102, 163840, 1280, 16,
     1024,     131056,   2200,         32,    4, 288ULL << 30, 24, 100'000'000, false, true},
    {"MI355X", "gfx950", Arch::gfx950, 90500, 8, 32,           4,  8,           512,   8,   102, 163840, 1280, 16,
     1024,     131056,   2400,         32,    4, 288ULL << 30, 24, 100'000'000, false, true},
}};

bool same(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(a[i])) != std::tolower(static_cast<unsigned char>(b[i]))) return false;
  }
  return true;
}

} // namespace

std::span<const DeviceProfile> device_profiles() noexcept { return kProfiles; }

const DeviceProfile* find_profile(std::string_view name) noexcept {
  for (const auto& profile : kProfiles) {
    if (same(profile.target, name) || same(profile.name, name)) return &profile;
  }
  return nullptr;
}

} // namespace aql::sim
