#include "sim/exec/code_cache.hpp"

#include <algorithm>
#include <cstring>

#include "sim/exec/exec.hpp"
#include "sim/isa/decode.hpp"
#include "sim/isa/op_info.hpp"

namespace aql::sim {
namespace {

// Longest block; bounds what one miss decodes.
constexpr std::size_t kMaxBlock = 256;
constexpr std::uint32_t kMaxInstBytes = 16;

// Ends a block: go on with the block at inst.pc. Not an instruction of the program, so it is not counted as one.
Next continue_elsewhere(Wave& wave, const Inst& inst) {
  wave.pc = inst.pc;
  --wave.instructions;
  return Next::jump;
}

Next illegal(Wave& wave, const Inst& inst) {
  return raise_fault(wave, inst, Errc::illegal_instruction, "illegal instruction for " + std::string(isa::to_string(wave.dispatch->arch)));
}

// Never falls through to the next instruction.
bool ends_block(isa::Op op) {
  switch (op) {
  case isa::Op::s_endpgm: case isa::Op::s_endpgm_saved: case isa::Op::s_endpgm_ordered_ps_done: case isa::Op::s_branch:
  case isa::Op::s_setpc_b64: case isa::Op::s_swappc_b64: case isa::Op::s_call_b64: case isa::Op::s_rfe_b64: case isa::Op::s_rfe_restore_b64: return true;
  default: return false;
  }
}

} // namespace

CodeCache::CodeCache(AddressMap& map, Arch arch) : arch_(arch), port_(map) {}
CodeCache::~CodeCache() = default;

std::size_t CodeCache::slot(std::uint64_t address) noexcept { return (address / kPageBytes) % kTable; }

CodeCache::Page* CodeCache::page(std::uint64_t pc, std::uint64_t generation, Fault& fault) {
  const std::uint64_t address = pc & ~(kPageBytes - 1);
  std::atomic<Page*>& front = table_[slot(address)];
  if (Page* p = front.load(std::memory_order_acquire); p != nullptr && p->address == address && p->generation.load(std::memory_order_acquire) >= generation) {
    return p;
  }
  const std::lock_guard hold(lock_);
  auto found = std::find_if(pages_.begin(), pages_.end(), [&](const auto& p) { return p->address == address; });
  if (found != pages_.end() && (*found)->generation.load(std::memory_order_relaxed) < generation) {
    if (unchanged(**found)) {
      (*found)->generation.store(generation, std::memory_order_release);
    } else { // others may still be running it
      retired_.push_back(std::move(*found));
      has_retired_.store(true, std::memory_order_relaxed);
      pages_.erase(found);
      found = pages_.end();
      if (Page* p = front.load(std::memory_order_relaxed); p != nullptr && p->address == address) front.store(nullptr, std::memory_order_release);
    }
  }
  if (found == pages_.end()) {
    std::uint32_t probe = 0;
    if (!port_.fetch(pc & ~3ull, &probe, 4, fault)) return nullptr;
    auto fresh = std::make_unique<Page>();
    fresh->address = address;
    fresh->generation.store(generation, std::memory_order_relaxed);
    fresh->bytes = std::make_unique<std::byte[]>(kPageBytes + kMaxInstBytes);
    fresh->begin = kPageBytes + kMaxInstBytes;
    found = pages_.insert(pages_.end(), std::move(fresh));
  }
  front.store(found->get(), std::memory_order_release);
  return found->get();
}

bool CodeCache::unchanged(Page& page) {
  if (page.mixed) return false;
  if (page.begin >= page.end) return true;
  const std::uint32_t size = page.end - page.begin;
  std::byte now[kPageBytes + kMaxInstBytes];
  Fault ignored;
  if (!port_.fetch(page.address + page.begin, now, size, ignored)) return false;
  for (std::uint32_t offset = 0; offset < size; offset += 4) {
    if (page.known[(page.begin + offset) / 4] && std::memcmp(now + offset, page.bytes.get() + page.begin + offset, 4) != 0) return false;
  }
  return true;
}

bool CodeCache::decode_one(std::uint64_t pc, Inst& out, Fault& fault) {
  std::uint32_t words[4] = {};
  for (std::uint32_t n = 1; n <= 4; ++n) {
    if (!port_.fetch(pc + 4ull * (n - 1), &words[n - 1], 4, fault)) return false;
    out = Inst{};
    out.pc = pc;
    const auto status = isa::decode({words, n}, arch_, out);
    if (status == isa::DecodeStatus::truncated) continue;
    if (status == isa::DecodeStatus::ok) {
      bind(out, arch_);
    } else {
      out.info = nullptr;
      out.format = isa::Format::illegal;
      out.handler = illegal;
    }
    break;
  }
  return true;
}

const Inst* CodeCache::decode_block(Page& page, std::uint64_t pc, Fault& fault) {
  if ((pc & 3) != 0) {
    fault.code = Errc::memory_fault;
    fault.reason = "instruction fetch from an address that is not a multiple of 4";
    fault.access = FaultAccess::fetch;
    fault.address = pc;
    fault.size_bytes = 4;
    return nullptr;
  }
  const std::lock_guard hold(lock_);
  if (const Inst* raced = page.entry[(pc % kPageBytes) / 4].load(std::memory_order_relaxed); raced != nullptr) return raced;
  std::vector<Inst> code;
  std::uint64_t at = pc;
  const std::uint64_t page_end = page.address + kPageBytes;
  bool open = true; // falls through at the end
  while (open && at < page_end && code.size() < kMaxBlock) {
    Inst inst;
    Fault unfetchable;
    if (!decode_one(at, inst, unfetchable)) {
      if (!code.empty()) break; // it faults when it is reached
      fault = std::move(unfetchable);
      return nullptr;
    }
    open = inst.format != isa::Format::illegal && !ends_block(inst.op);
    at += inst.size_bytes;
    code.push_back(inst);
  }
  decoded_.fetch_add(code.size(), std::memory_order_relaxed);
  if (open) {
    Inst onward;
    onward.pc = at;
    onward.handler = continue_elsewhere;
    code.push_back(onward);
  }

  std::uint16_t vgpr_top = 0, agpr_top = 0;
  for (auto inst = code.rbegin(); inst != code.rend(); ++inst) {
    inst->block_vgpr_top = vgpr_top = std::max(vgpr_top, inst->vgpr_top);
    inst->block_agpr_top = agpr_top = std::max(agpr_top, inst->agpr_top);
  }

  auto block = std::make_unique<Inst[]>(code.size());
  std::copy(code.begin(), code.end(), block.get());
  const Inst* first = block.get();
  page.blocks.push_back(std::move(block));
  for (std::size_t n = 0; n < code.size() - (open ? 1u : 0u); ++n) {
    const Inst& inst = first[n];
    const auto offset = static_cast<std::uint32_t>(inst.pc - page.address);
    for (std::uint32_t word = 0; word < inst.size_bytes / 4u; ++word) {
      std::byte* at_word = page.bytes.get() + offset + 4 * word;
      const std::size_t index = offset / 4 + word;
      if (page.known[index] && std::memcmp(at_word, &inst.words[word], 4) != 0) page.mixed = true;
      page.known.set(index);
      std::memcpy(at_word, &inst.words[word], 4);
    }
    page.begin = std::min(page.begin, offset);
    page.end = std::max(page.end, offset + inst.size_bytes);
    if (page.entry[offset / 4].load(std::memory_order_relaxed) == nullptr) page.entry[offset / 4].store(&inst, std::memory_order_release); // label I
  }
  return first;
}

void CodeCache::free_retired() {
  std::vector<std::unique_ptr<Page>> dead;
  const std::lock_guard hold(lock_);
  // A read-modify-write: a Reader that enters later sees the page table without the retired pages.
  if (readers_.fetch_add(0, std::memory_order_acq_rel) != 0) return;
  dead.swap(retired_);
  has_retired_.store(false, std::memory_order_relaxed);
}

} // namespace aql::sim
