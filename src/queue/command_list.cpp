#include <aql/command_list.hpp>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <aql/device.hpp>

#include "base/fork_guard.hpp"
#include "base/log.hpp"
#include "driver/driver.hpp"

namespace aql {
namespace {

constexpr std::uint32_t kInvalid = static_cast<std::uint32_t>(abi::PacketType::invalid);
constexpr std::size_t kArgumentAlign = 64;
constexpr std::size_t kNoArguments = ~std::size_t{0};

// Kernarg memory of one replay, or of several without a patch in between.
struct Frame {
  detail::Allocation memory;
  std::vector<Ticket> users;
  // Forgets replays that are over; true if none is left.
  bool idle() {
    std::erase_if(users, [](const Ticket& ticket) { return ticket.done(); });
    return users.empty();
  }
};

Error refuse(std::string why, std::string_view where) { return Error{Errc::invalid_argument, 0, std::move(why), where}; }

bool is_dispatch(std::uint32_t first_word) {
  return abi::HeaderType::decode(first_word) == static_cast<std::uint32_t>(abi::PacketType::kernel_dispatch);
}

} // namespace

struct CommandList::State {
  struct Arguments {
    std::size_t offset = kNoArguments, size_bytes = 0; // inside `arguments`
  };
  std::shared_ptr<detail::Driver> driver;
  detail::ForkGuard fork;
  // The image is copied into the ring as it is: its first words are INVALID, the real ones stand beside it.
  std::vector<abi::Slot> image;
  std::vector<std::uint32_t> first_words;
  std::vector<Arguments> places;
  std::vector<std::byte> arguments; // of all packets, as the next replay wants them
  std::vector<std::unique_ptr<Frame>> frames;
  Frame* current = nullptr; // holds `arguments`, unless changed
  bool changed = false;

  ~State() {
    if (fork.forked()) { // the parent's
      new std::shared_ptr<detail::Driver>(std::move(driver));
      return;
    }
    const Deadline deadline = Deadline::in(std::chrono::seconds{10});
    for (const auto& frame : frames) {
      bool over = true;
      for (const Ticket& user : frame->users) {
        const auto done = user.wait(deadline);
        over = over && (done || done.error().code != Errc::timeout);
      }
      if (!over) {
        log::warn("a command list is destroyed while its packets are in flight; their kernarg memory is left alone");
        continue;
      }
      if (auto freed = driver->free(frame->memory); !freed) log::error(fmt::format("kernarg memory of a command list: {}", freed.error().message()));
    }
  }

  // A frame that no replay uses, large enough.
  Result<Frame*> free_frame() {
    for (const auto& frame : frames)
      if (frame->memory.size_bytes >= arguments.size() && frame->idle()) return frame.get();
    auto memory = driver->allocate(PoolKind::kernarg, arguments.size(), "command list arguments");
    if (!memory) return std::unexpected(std::move(memory).error());
    frames.push_back(std::make_unique<Frame>());
    frames.back()->memory = *memory;
    return frames.back().get();
  }

  Result<void> check(std::size_t number, bool dispatch_only, std::string_view where) const {
    if (number >= image.size()) return std::unexpected(refuse(fmt::format("packet {} of a list of {}", number, image.size()), where));
    if (dispatch_only && !is_dispatch(first_words[number])) return std::unexpected(refuse(fmt::format("packet {} is no dispatch", number), where));
    return {};
  }
};

CommandList::CommandList(std::shared_ptr<detail::Driver> driver) : state_(std::make_unique<State>()) { state_->driver = std::move(driver); }
CommandList::CommandList(const Device& device) : CommandList(device.driver()) {}
CommandList::CommandList(CommandList&&) noexcept = default;
CommandList& CommandList::operator=(CommandList&&) noexcept = default;
CommandList::~CommandList() = default;

std::size_t CommandList::size() const noexcept { return state_->image.size(); }
std::size_t CommandList::frames() const noexcept { return state_->frames.size(); }

abi::Slot CommandList::packet(std::size_t number) const noexcept {
  abi::Slot slot = state_->image[number];
  slot.word[0] = state_->first_words[number];
  return slot;
}

std::size_t CommandList::add_slot(const abi::Slot& slot) {
  state_->first_words.push_back(slot.word[0]);
  state_->image.push_back(slot);
  state_->image.back().word[0] = kInvalid;
  state_->places.emplace_back();
  return size() - 1;
}

std::size_t CommandList::add(const DispatchPacket& packet, std::span<const std::byte> arguments) {
  const std::size_t number = add_slot(packet.encode());
  if (arguments.empty()) return number;
  auto& all = state_->arguments;
  const std::size_t offset = (all.size() + kArgumentAlign - 1) / kArgumentAlign * kArgumentAlign;
  all.resize(offset + arguments.size());
  std::memcpy(all.data() + offset, arguments.data(), arguments.size());
  state_->places[number] = {offset, arguments.size()};
  state_->changed = true;
  return number;
}

Result<void> CommandList::set_slot(std::size_t number, const abi::Slot& slot) {
  const bool keeps = number < size() && state_->places[number].offset != kNoArguments;
  if (auto good = state_->check(number, false, "CommandList::set"); !good) return good;
  if (keeps && !is_dispatch(slot.word[0])) return std::unexpected(refuse(fmt::format("packet {} has arguments; a dispatch has to take its place", number), "CommandList::set"));
  state_->first_words[number] = slot.word[0];
  const std::uint64_t kernargs = detail::get64(state_->image[number], 10);
  state_->image[number] = slot;
  state_->image[number].word[0] = kInvalid;
  if (keeps) detail::put64(state_->image[number], 10, kernargs);
  return {};
}

Result<void> CommandList::set_grid(std::size_t number, Dim3 grid) {
  if (auto good = state_->check(number, true, "CommandList::set_grid"); !good) return good;
  DispatchPacket packet = DispatchPacket::decode(this->packet(number));
  packet.grid = grid;
  packet.dimensions = 0;
  return set_slot(number, packet.encode());
}

Result<void> CommandList::set_group_bytes(std::size_t number, std::uint32_t group_bytes) {
  if (auto good = state_->check(number, true, "CommandList::set_group_bytes"); !good) return good;
  state_->image[number].word[7] = group_bytes;
  return {};
}

Result<void> CommandList::set_completion(std::size_t number, SignalHandle completion) {
  if (auto good = state_->check(number, false, "CommandList::set_completion"); !good) return good;
  detail::put64(state_->image[number], 14, completion.value);
  return {};
}

Result<void> CommandList::set_arguments(std::size_t number, std::size_t offset, std::span<const std::byte> bytes) {
  if (auto good = state_->check(number, true, "CommandList::set_arguments"); !good) return good;
  const auto& place = state_->places[number];
  if (place.offset == kNoArguments) return std::unexpected(refuse(fmt::format("packet {} was added without arguments", number), "CommandList::set_arguments"));
  if (offset > place.size_bytes || bytes.size() > place.size_bytes - offset) {
    return std::unexpected(refuse(fmt::format("{} bytes at {} of packet {}, which has {} bytes of arguments", bytes.size(), offset, number, place.size_bytes),
                                  "CommandList::set_arguments"));
  }
  std::memcpy(state_->arguments.data() + place.offset + offset, bytes.data(), bytes.size());
  state_->changed = true;
  return {};
}

Result<Ticket> CommandList::replay(Queue& queue) {
  State& s = *state_;
  if (s.image.empty() || s.image.size() > queue.ring().size()) {
    return std::unexpected(refuse(fmt::format("a list of {} packets; 1 to {} fit the ring", s.image.size(), queue.ring().size()), "CommandList::replay"));
  }
  if (s.changed) {
    auto frame = s.free_frame();
    if (!frame) return std::unexpected(std::move(frame).error());
    s.current = *frame;
    std::memcpy(s.current->memory.host, s.arguments.data(), s.arguments.size()); // before A
    for (std::size_t i = 0; i < s.image.size(); ++i)
      if (s.places[i].offset != kNoArguments) detail::put64(s.image[i], 10, s.current->memory.device_address + s.places[i].offset);
    s.changed = false;
  }
  const Ticket ticket = queue.submit_recorded(s.image.data(), s.first_words.data(), static_cast<std::uint32_t>(s.image.size()));
  if (!ticket.submitted()) {
    auto why = ticket.wait();
    return std::unexpected(std::move(why).error());
  }
  if (s.current != nullptr) {
    // A submission that names its own signals cannot be followed: what comes behind it in the queue can.
    Ticket user = ticket;
    if (!user.tracked()) user = queue.submit(BarrierAndPacket{.barrier = Barrier::on, .acquire = Scope::none, .release = Scope::none});
    if (s.current->users.size() >= 64) (void)s.current->idle();
    s.current->users.push_back(user);
  }
  return ticket;
}

Ticket Queue::submit_recorded(const abi::Slot* image, const std::uint32_t* first_words, std::uint32_t count) noexcept {
  detail::QueueHot& hot = *hot_;
  std::uint64_t first;
  if (!hot.ring.take(count, first) && !hot.ring.take_slow(count, Deadline::never(), first)) return refuse(count);
  const std::uint64_t size = hot.ring.size(), last = first + count - 1;
  abi::Slot* const slots = &hot.ring.slot(0);
  const std::uint64_t at = first & (size - 1);
  const auto before_end = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, size - at));
  if (hot.ring.fused()) { // the processor may look at these headers already: they stay what they are, INVALID
    for (std::uint32_t i = 0; i < count; ++i) std::memcpy(hot.ring.slot(first + i).word + 1, image[i].word + 1, sizeof(abi::Slot) - 4);
  } else {
    std::memcpy(slots + at, image, before_end * sizeof(abi::Slot));
    std::memcpy(slots, image + before_end, (count - before_end) * sizeof(abi::Slot));
  }

  const auto own = [&](std::uint32_t i) { return detail::get64(image[i], 14) != 0; };
  Ticket ticket{hot, Ticket::State::own_signal, last};
  if (!own(count - 1) && has_barrier(first_words[count - 1]) && hot.ring.is_head(first)) {
    detail::TrackedSignal* const signal = hot.epoch;
    const std::int64_t threshold = -++signal->uses;
    detail::put64(hot.ring.slot(last), 14, signal->view.handle);
    ticket = Ticket{hot, Ticket::State::tracked, last, signal, threshold};
  } else {
    std::uint32_t counted = 0;
    for (std::uint32_t i = 0; i < count; ++i) counted += own(i) ? 0 : 1;
    if (counted != 0) {
      detail::TrackedSignal* const signal = count_on_slot(last, counted);
      ticket = signal != nullptr ? Ticket{hot, Ticket::State::tracked, last, signal, -signal->uses} : Ticket{hot, Ticket::State::no_signal, last};
      for (std::uint32_t i = 0; signal != nullptr && i < count; ++i)
        if (!own(i)) detail::put64(hot.ring.slot(first + i), 14, signal->view.handle);
    }
  }
  for (std::uint32_t i = 0; i < before_end; ++i) std::atomic_ref<std::uint32_t>{slots[at + i].word[0]}.store(first_words[i], std::memory_order_release); // A
  for (std::uint32_t i = before_end; i < count; ++i)
    std::atomic_ref<std::uint32_t>{slots[i - before_end].word[0]}.store(first_words[i], std::memory_order_release); // A
  hot.ring.commit(first, count);
  return ticket;
}

} // namespace aql
