#pragma once
// A memory barrier that one rare side of a handshake pays for the other, frequent side (Linux membarrier(2)).
// Thread safety: all functions may be called from any thread.
//
// The frequent side runs   store X; compiler barrier; load Y.
// The rare side runs       store Y; heavy_barrier(); load X.
// At least one of the two sees the other's store: heavy_barrier() makes every running thread of the process pass a full barrier.

namespace aql::detail {

// True if the kernel offers it to this process (registers on the first call). If not, the frequent side needs a real fence.
[[nodiscard]] bool heavy_barrier_available() noexcept;
void heavy_barrier() noexcept;

} // namespace aql::detail
