#pragma once
// Decoded code of one Gpu: pages of 4 KiB, each with an entry for every dword that was ever jumped to. An entry is the first
// instruction of a block, laid out in execution order: the loop goes from one Inst to the next by ++ until a jump.
// Code may be overwritten (copy kernels, loaders): at its first use by a newer dispatch a page compares the bytes it decoded
// with memory, and is decoded afresh if they differ.
// Thread safety: find() from any worker inside a Reader; decoding takes a lock, finding decoded code takes none.
// Memory ordering: label I, decoded block -> entry (release), find (acquire); page -> page table (release/acquire).

#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "sim/fault.hpp"
#include "sim/isa/inst.hpp"
#include "sim/mem/port.hpp"

namespace aql::sim {

class CodeCache {
public:
  CodeCache(AddressMap& map, Arch arch);
  ~CodeCache();
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;

  [[nodiscard]] Arch arch() const noexcept { return arch_; }

  // A new generation: code found with it is checked against memory once. Goes into DispatchContext::code_generation.
  std::uint64_t begin_dispatch() noexcept { return next_generation_.fetch_add(1, std::memory_order_relaxed); }

  // Held while instructions of this cache are being run; replaced pages live until no Reader is left.
  class Reader {
  public:
    explicit Reader(CodeCache& cache) noexcept : cache_(cache) { cache_.readers_.fetch_add(1, std::memory_order_acq_rel); }
    ~Reader() {
      if (cache_.readers_.fetch_sub(1, std::memory_order_acq_rel) == 1 && cache_.has_retired_.load(std::memory_order_relaxed)) cache_.free_retired();
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

  private:
    CodeCache& cache_;
  };

  static constexpr std::uint64_t kPageBytes = 4096;

  struct Page {
    std::uint64_t address = 0;
    std::atomic<std::uint64_t> generation{0};       // checked against memory for all generations up to this
    std::atomic<const Inst*> entry[kPageBytes / 4] = {};
    // Under the cache's lock:
    std::vector<std::unique_ptr<Inst[]>> blocks;
    std::uint32_t begin = 0, end = 0;               // decoded bytes, offsets from address (end may pass the page by an instruction)
    std::unique_ptr<std::byte[]> bytes;             // what was decoded, kPageBytes + 16
    std::bitset<kPageBytes / 4 + 4> known;          // dwords of `bytes` that were decoded
    bool mixed = false;                             // memory changed between the decoding of two blocks
  };

  // The page that holds `pc`, checked for `generation`. Null: fault filled.
  Page* page(std::uint64_t pc, std::uint64_t generation, Fault& fault);

  // The instruction at `pc`; decodes a block if needed. Null: `fault` says why the code cannot be fetched.
  const Inst* find(Page*& current, std::uint64_t pc, std::uint64_t generation, Fault& fault) {
    Page* p = current;
    if (p == nullptr || (pc & ~(kPageBytes - 1)) != p->address) [[unlikely]] {
      p = page(pc, generation, fault);
      current = p;
      if (p == nullptr) return nullptr;
    }
    const Inst* inst = (pc & 3) == 0 ? p->entry[(pc % kPageBytes) / 4].load(std::memory_order_acquire) : nullptr;
    return inst != nullptr ? inst : decode_block(*p, pc, fault);
  }

  // Instructions and pages decoded so far (statistics; tests).
  [[nodiscard]] std::uint64_t decoded_instructions() const noexcept { return decoded_.load(std::memory_order_relaxed); }

private:
  const Inst* decode_block(Page& page, std::uint64_t pc, Fault& fault);
  bool unchanged(Page& page);
  void free_retired();
  // One instruction at `pc`; false with `fault` if a word of it cannot be fetched.
  bool decode_one(std::uint64_t pc, Inst& out, Fault& fault);
  static std::size_t slot(std::uint64_t address) noexcept;

  static constexpr std::size_t kTable = 4096;

  Arch arch_;
  MemoryPort port_;                            // under lock_
  std::mutex lock_;
  std::array<std::atomic<Page*>, kTable> table_{}; // direct-mapped front of pages_
  std::vector<std::unique_ptr<Page>> pages_;   // under lock_
  std::vector<std::unique_ptr<Page>> retired_; // under lock_
  std::atomic<bool> has_retired_{false};
  std::atomic<std::uint32_t> readers_{0};
  std::atomic<std::uint64_t> next_generation_{1};
  std::atomic<std::uint64_t> decoded_{0};
};

} // namespace aql::sim
