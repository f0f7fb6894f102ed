#include "support/isa_bench.hpp"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <unistd.h>

#include "sim/isa/decode.hpp"
#include "support/tools.hpp"

namespace aql::test {
namespace {

std::vector<const AsmCase*>& registry() {
  static std::vector<const AsmCase*> cases;
  return cases;
}

std::string target_options(Arch arch) { return " -triple=amdgcn-amd-amdhsa -mcpu=" + std::string(sim::isa::to_string(arch)); }

const std::optional<std::string>& assembler() {
  static const std::optional<std::string> found = find_tool("llvm-mc");
  return found;
}

template <class T>
T load(const std::string& bytes, std::size_t offset) {
  T value{};
  if (offset + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Contents of .text of an ELF64 relocatable file.
std::vector<std::uint32_t> text_section(const std::string& elf) {
  const auto table = load<std::uint64_t>(elf, 40);
  const auto entry = load<std::uint16_t>(elf, 58), count = load<std::uint16_t>(elf, 60), names = load<std::uint16_t>(elf, 62);
  const auto name_data = load<std::uint64_t>(elf, table + std::uint64_t{names} * entry + 24);
  for (unsigned n = 0; n < count; ++n) {
    const std::uint64_t header = table + std::uint64_t{n} * entry;
    const char* name = elf.c_str() + name_data + load<std::uint32_t>(elf, header);
    if (std::strcmp(name, ".text") != 0) continue;
    std::vector<std::uint32_t> words(load<std::uint64_t>(elf, header + 32) / 4);
    std::memcpy(words.data(), elf.data() + load<std::uint64_t>(elf, header + 24), words.size() * 4);
    return words;
  }
  return {};
}

// Instructions that jump make "every instruction of the program" untrue.
bool jumps(const sim::Inst& inst) {
  const std::string_view name = inst.info->mnemonic;
  return name.starts_with("s_branch") || name.starts_with("s_cbranch") || name.starts_with("s_setpc") || name.starts_with("s_swappc") ||
         name.starts_with("s_call");
}

} // namespace

AsmCases::AsmCases(std::initializer_list<AsmCase> cases) : AsmCases(std::vector<AsmCase>(cases)) {}
AsmCases::AsmCases(std::vector<AsmCase> cases) : cases_(std::move(cases)) {
  for (const AsmCase& c : cases_) registry().push_back(&c);
}
const std::vector<const AsmCase*>& registered_asm_cases() { return registry(); }

bool have_assembler() { return assembler().has_value(); }

std::vector<std::uint32_t> assemble(Arch arch, std::string_view text, std::string* errors) {
  if (!assembler()) return {};
  const TempDir work;
  std::ofstream(work.file("in.s")) << text << '\n';
  const auto result = run_command(*assembler() + target_options(arch) + " -filetype=obj " + work.file("in.s") + " -o " + work.file("out.o"));
  if (errors != nullptr) *errors = result.output;
  if (result.status != 0) return {};
  std::ifstream file(work.file("out.o"), std::ios::binary);
  std::stringstream elf;
  elf << file.rdbuf();
  return text_section(elf.str());
}

std::vector<std::vector<std::uint32_t>> assemble_each(Arch arch, const std::vector<std::string>& texts, std::string* errors) {
  std::vector<std::vector<std::uint32_t>> all(texts.size());
  if (!assembler()) return all;
  // A word that no instruction begins with, and n, mark where text n begins.
  std::string source;
  for (std::size_t n = 0; n < texts.size(); ++n) source += "  .long 0xfeedface\n  .long " + std::to_string(n) + "\n" + texts[n] + "\n";
  const auto words = assemble(arch, source, errors);
  std::size_t current = texts.size();
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (at + 1 < words.size() && words[at] == 0xfeedface && words[at + 1] == (current == texts.size() ? 0 : current + 1)) {
      current = words[++at];
    } else if (current < texts.size()) {
      all[current].push_back(words[at]);
    }
  }
  return all;
}

std::string row_format(const sim::Inst& inst) {
  std::string name(sim::isa::to_string(inst.format));
  if (inst.extra == sim::isa::Extra::sdwa) name += "_SDWA";
  if (inst.extra == sim::isa::Extra::dpp) name += "_DPP";
  if (inst.format == sim::isa::Format::mubuf && inst.lds && inst.info->has(sim::isa::OpFlags(sim::isa::kLds | sim::isa::kLds950))) name += "_LDS";
  return name;
}

struct IsaBench::Recorder : sim::TraceSink {
  std::set<std::string>* rows = nullptr;
  Arch arch{};
  void before(const sim::Wave&, const sim::Inst&) override {}
  void after(const sim::Wave&, const sim::Inst& inst, sim::Next next) override {
    if (next != sim::Next::fault && inst.info != nullptr) note(inst);
  }
  void note(const sim::Inst& inst) const {
    rows->insert(std::string(sim::isa::to_string(arch)) + '\t' + row_format(inst) + '\t' + std::string(inst.info->mnemonic));
  }
};

IsaBench::IsaBench(Arch arch, BenchOptions options) {
  registers_ = std::make_unique<sim::VReg[]>(512);
  std::memset(registers_.get(), 0, 512 * sizeof(sim::VReg));
  lds_.resize(options.lds_bytes + 64);
  dispatch.arch = arch;
  dispatch.lds_bytes = options.lds_bytes;
  dispatch.lds_limit = arch == Arch::gfx950 ? 163840 : 65536;
  dispatch.shared_aperture = 0x1000000000000ull;
  dispatch.private_aperture = 0x2000000000000ull;
  group.dispatch = &dispatch;
  group.wave_count = 1;
  group.lds = lds_.data() + (64 - reinterpret_cast<std::uintptr_t>(lds_.data()) % 64) % 64;
  group.lds_bytes = options.lds_bytes;
  wave.vgpr = registers_.get();
  wave.vgpr_count = options.vgprs;
  wave.agpr_base = options.vgprs;
  wave.agpr_count = options.agprs;
  wave.mode.bits = 0x3f0; // round to nearest even, denormals kept, DX10_CLAMP, IEEE
  wave.group = &group;
  wave.dispatch = &dispatch;
  wave.port = &port;
  wave.fault = &fault;
  wave.set_exec(~0ull);
  cache_ = std::make_unique<sim::CodeCache>(map, arch);
  wave.code = cache_.get();
  code_ = buffer(1 << 16, sim::kRead | sim::kExecute, "code");
  recorder_ = std::make_unique<Recorder>();
  recorder_->rows = &pending_;
  recorder_->arch = arch;
}

IsaBench::~IsaBench() = default;

IsaBench::Buffer IsaBench::buffer(std::size_t size, std::uint8_t permissions, std::string label) {
  storage_.push_back(std::make_unique<std::byte[]>(size));
  const Buffer b{next_address_, {storage_.back().get(), size}};
  next_address_ += (size + 0xffff) / 0x10000 * 0x10000 + 0x10000;
  if (!map.map({.address = b.address, .size = size, .host = b.host.data(), .permissions = permissions, .kind = sim::MemoryKind::device_coarse, .label = std::move(label)})) std::abort();
  return b;
}

bool IsaBench::run(std::span<const std::uint32_t> words) {
  constexpr std::uint32_t kEndpgm = 0xbf810000;
  if (words.size_bytes() + 64 > code_.host.size()) std::abort();
  std::memcpy(code_.host.data(), words.data(), words.size_bytes());
  for (unsigned n = 0; n < 4; ++n) std::memcpy(code_.host.data() + words.size_bytes() + 4 * n, &kEndpgm, 4);

  // Straight programs run in the fast loop; their rows are those of the words. Others are traced.
  bool straight = true;
  for (std::size_t at = 0; at < words.size();) {
    sim::Inst inst;
    if (sim::isa::decode(words.subspan(at), arch(), inst) != sim::isa::DecodeStatus::ok) break;
    if (jumps(inst)) straight = false;
    at += inst.size_bytes / 4u;
  }
  sim::TraceSink* const user_trace = dispatch.trace;
  if (!straight && user_trace == nullptr) dispatch.trace = recorder_.get();

  dispatch.code_generation = cache_->begin_dispatch();
  fault = {};
  wave.pc = code_.address;
  sim::Next next = sim::Next::fallthrough;
  for (unsigned slices = 0; slices < 1000; ++slices) {
    const sim::AddressMap::Slice slice(map);
    next = sim::run_wave(wave, 1000);
    if (next == sim::Next::end || next == sim::Next::fault) break;
  }
  dispatch.trace = user_trace;
  if (straight && next == sim::Next::end) {
    for (std::size_t at = 0; at < words.size();) {
      sim::Inst inst;
      if (sim::isa::decode(words.subspan(at), arch(), inst) != sim::isa::DecodeStatus::ok) break;
      recorder_->note(inst);
      at += inst.size_bytes / 4u;
    }
  }
  return next == sim::Next::end;
}

bool IsaBench::run(std::string_view text) {
  std::string errors;
  const auto words = assemble(arch(), text, &errors);
  if (words.empty()) {
    std::fprintf(stderr, "cannot assemble:\n%s\n", errors.c_str());
    return false;
  }
  return run(std::span<const std::uint32_t>(words));
}

void IsaBench::agreed() {
  static std::set<std::string> written;
  const std::filesystem::path directory = std::filesystem::path(AQL_TEST_BIN_DIR) / ".." / "isa_coverage";
  std::error_code ignored;
  std::filesystem::create_directories(directory, ignored);
  std::string fresh;
  for (const std::string& row : pending_) {
    if (written.insert(row).second) fresh += row + '\n';
  }
  pending_.clear();
  if (fresh.empty()) return;
  std::ofstream(directory / (std::to_string(::getpid()) + ".tsv"), std::ios::app) << fresh;
}

} // namespace aql::test
