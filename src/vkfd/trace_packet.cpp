#include "vkfd/trace_packet.hpp"

#include <cstring>

#include <aql/packet.hpp>
#include <fmt/format.h>

#include "sim/cp/pm4.hpp"
#include "sim/cp/sdma.hpp"
#include "vkfd/trace.hpp"

namespace aql::vkfd {
namespace {

using Words = std::span<const std::uint32_t>;

std::string raw(Words words) {
  std::string text;
  for (const std::uint32_t word : words) text += fmt::format("{}{:08x}", text.empty() ? "" : " ", word);
  return text;
}

std::uint64_t pair(Words w, std::size_t at) { return at + 1 < w.size() ? w[at] | static_cast<std::uint64_t>(w[at + 1]) << 32 : 0; }

const char* pm4_name(std::uint32_t opcode) noexcept {
  switch (opcode) {
  case sim::pm4::nop: return "NOP";
  case sim::pm4::set_base: return "SET_BASE";
  case sim::pm4::clear_state: return "CLEAR_STATE";
  case sim::pm4::dispatch_direct: return "DISPATCH_DIRECT";
  case sim::pm4::dispatch_indirect: return "DISPATCH_INDIRECT";
  case sim::pm4::atomic_mem: return "ATOMIC_MEM";
  case sim::pm4::write_data: return "WRITE_DATA";
  case sim::pm4::wait_reg_mem: return "WAIT_REG_MEM";
  case sim::pm4::indirect_buffer: return "INDIRECT_BUFFER";
  case sim::pm4::copy_data: return "COPY_DATA";
  case sim::pm4::pfp_sync_me: return "PFP_SYNC_ME";
  case sim::pm4::surface_sync: return "SURFACE_SYNC";
  case sim::pm4::event_write: return "EVENT_WRITE";
  case sim::pm4::release_mem: return "RELEASE_MEM";
  case sim::pm4::acquire_mem: return "ACQUIRE_MEM";
  case sim::pm4::set_config_reg: return "SET_CONFIG_REG";
  case sim::pm4::set_sh_reg: return "SET_SH_REG";
  case sim::pm4::set_uconfig_reg: return "SET_UCONFIG_REG";
  case sim::pm4::set_sh_reg_index: return "SET_SH_REG_INDEX";
  default: return nullptr;
  }
}

std::string describe_pm4(Words w) {
  const std::uint32_t opcode = w[0] >> 8 & 0xffu;
  const char* name = pm4_name(opcode);
  std::string text = name != nullptr ? name : fmt::format("opcode {:#x}", opcode);
  switch (opcode) {
  case sim::pm4::write_data:
  case sim::pm4::indirect_buffer:
    text += fmt::format(" address={:#x}", opcode == sim::pm4::write_data ? pair(w, 2) : pair(w, 1));
    break;
  case sim::pm4::atomic_mem:
    text += fmt::format(" operation={} address={:#x} data={:#x}", w.size() > 1 ? w[1] & 0x7fu : 0, pair(w, 2), pair(w, 4));
    break;
  case sim::pm4::release_mem: text += fmt::format(" address={:#x} data={:#x}", pair(w, 3), pair(w, 5)); break;
  case sim::pm4::dispatch_direct:
    if (w.size() > 4) text += fmt::format(" {}x{}x{} initiator={:#x}", w[1], w[2], w[3], w[4]);
    break;
  case sim::pm4::set_sh_reg:
    if (w.size() > 1) text += fmt::format(" from={:#x} count={}", w[1] & 0xffffu, w.size() - 2);
    break;
  default: break;
  }
  return fmt::format("{} [{}]", text, raw(w));
}

std::string describe_sdma(Words w) {
  const std::uint32_t opcode = w[0] & 0xffu, sub = w[0] >> 8 & 0xffu;
  std::string text;
  switch (opcode) {
  case sim::sdma::nop: text = "NOP"; break;
  case sim::sdma::copy:
    if (sub == sim::sdma::kCopyLinear && w.size() >= 7) {
      text = fmt::format("COPY_LINEAR bytes={} from={:#x} to={:#x}", (w[1] & 0x3fffffffu) + 1, pair(w, 3), pair(w, 5));
    } else {
      text = fmt::format("COPY_LINEAR_RECT from={:#x} to={:#x}", pair(w, 1), pair(w, 6));
    }
    break;
  case sim::sdma::write:
    text = fmt::format("WRITE to={:#x} dwords={}", pair(w, 1), w.size() > 3 ? (w[3] & 0xfffffu) + 1 : 0);
    break;
  case sim::sdma::indirect: text = fmt::format("INDIRECT address={:#x}", pair(w, 1)); break;
  case sim::sdma::fence: text = fmt::format("FENCE address={:#x} value={:#x}", pair(w, 1), w.size() > 3 ? w[3] : 0); break;
  case sim::sdma::trap: text = fmt::format("TRAP context={:#x}", w.size() > 1 ? w[1] : 0); break;
  case sim::sdma::poll_regmem:
    text = fmt::format("{} address={:#x} value={:#x} mask={:#x}", (w[0] & sim::sdma::kHdpFlush) != 0 ? "HDP_FLUSH" : "POLL_REGMEM",
                       pair(w, 1), w.size() > 3 ? w[3] : 0, w.size() > 4 ? w[4] : 0);
    break;
  case sim::sdma::cond_exe: text = "COND_EXE"; break;
  case sim::sdma::atomic:
    text = fmt::format("ATOMIC operation={} address={:#x} data={:#x}", w[0] >> 25, pair(w, 1), pair(w, 3));
    break;
  case sim::sdma::const_fill:
    text = fmt::format("CONST_FILL to={:#x} value={:#x} bytes={}", pair(w, 1), w.size() > 3 ? w[3] : 0,
                       w.size() > 4 ? (w[4] & 0x3fffffu) + 1 : 0);
    break;
  case sim::sdma::timestamp: text = fmt::format("TIMESTAMP to={:#x}", pair(w, 1)); break;
  case sim::sdma::srbm_write: text = "SRBM_WRITE"; break;
  case sim::sdma::pre_exe: text = "PRE_EXE"; break;
  case sim::sdma::dummy_trap: text = "DUMMY_TRAP"; break;
  default: text = fmt::format("opcode {}", opcode); break;
  }
  return fmt::format("{} [{}]", text, raw(w));
}

} // namespace

std::string describe_packet(sim::PacketEngine engine, Words words) {
  if (words.empty()) return "nothing";
  switch (engine) {
  case sim::PacketEngine::aql: {
    abi::Slot slot{};
    std::memcpy(&slot, words.data(), std::min(sizeof slot, words.size_bytes()));
    return to_line(slot);
  }
  case sim::PacketEngine::pm4: return describe_pm4(words);
  case sim::PacketEngine::sdma: return describe_sdma(words);
  }
  return raw(words);
}

void PacketTrace::packet(sim::QueueId queue, sim::PacketEngine engine, std::uint64_t index, Words words) {
  const char* name = engine == sim::PacketEngine::aql ? "aql" : engine == sim::PacketEngine::pm4 ? "pm4" : "sdma";
  trace(fmt::format("queue {} {} {}: {}", queue, name,
                    engine == sim::PacketEngine::aql ? fmt::format("{}", index) : fmt::format("{:#x}", index),
                    describe_packet(engine, words)));
}

} // namespace aql::vkfd
