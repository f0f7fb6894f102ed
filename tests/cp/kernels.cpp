// Kernels of the tests in this folder, assembled: s[0:1] is the kernarg address, s2 the workgroup id x, unless a comment says
// otherwise. asm_agreement.cpp checks words against text where there is an assembler.
#include "cp/kernels.hpp"

namespace cp_test {

using aql::test::AsmCases;

const AsmCases kSpinOnFlag{{
    {"s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
     "s_waitcnt lgkmcnt(0)\n"
     "spin_flag:\n"
     "s_load_dword s6, s[4:5], 0x0 glc\n"
     "s_waitcnt lgkmcnt(0)\n"
     "s_cmp_eq_u32 s6, 0\n"
     "s_cbranch_scc1 spin_flag\n"
     "s_endpgm",
     {0xC0060100, 0x00000000, 0xBF8CC07F, 0xC0030182, 0x00000000, 0xBF8CC07F, 0xBF068006, 0xBF85FFFB, 0xBF810000},
     7}}};

const AsmCases kSleepOnFlag{{
    {"s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
     "s_waitcnt lgkmcnt(0)\n"
     "sleep_flag:\n"
     "s_sleep 1\n"
     "s_load_dword s6, s[4:5], 0x0 glc\n"
     "s_waitcnt lgkmcnt(0)\n"
     "s_cmp_eq_u32 s6, 0\n"
     "s_cbranch_scc1 sleep_flag\n"
     "s_endpgm",
     {0xC0060100, 0x00000000, 0xBF8CC07F, 0xBF8E0001, 0xC0030182, 0x00000000, 0xBF8CC07F, 0xBF068006, 0xBF85FFFA, 0xBF810000},
     7}}};

const AsmCases kMeet{{
    {"s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
     "s_load_dword s7, s[0:1], 0x8\n"
     "s_waitcnt lgkmcnt(0)\n"
     "s_mov_b64 exec, 1\n"
     "v_mov_b32_e32 v0, 0\n"
     "v_mov_b32_e32 v1, 1\n"
     "global_atomic_add v0, v1, s[4:5]\n"
     "s_waitcnt vmcnt(0)\n"
     "meet:\n"
     "s_load_dword s6, s[4:5], 0x0 glc\n"
     "s_waitcnt lgkmcnt(0)\n"
     "s_cmp_lt_u32 s6, s7\n"
     "s_cbranch_scc1 meet\n"
     "s_endpgm",
     {0xC0060100, 0x00000000, 0xC00201C0, 0x00000008, 0xBF8CC07F, 0xBEFE0181, 0x7E000280, 0x7E020281, 0xDD088000, 0x00040100,
      0xBF8C0F70, 0xC0030182, 0x00000000, 0xBF8CC07F, 0xBF0A0706, 0xBF85FFFB, 0xBF810000},
     7}}};

const AsmCases kMeetAsleep{{
    {"s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
     "s_load_dword s7, s[0:1], 0x8\n"
     "s_waitcnt lgkmcnt(0)\n"
     "s_mov_b64 exec, 1\n"
     "v_mov_b32_e32 v0, 0\n"
     "v_mov_b32_e32 v1, 1\n"
     "global_atomic_add v0, v1, s[4:5]\n"
     "s_waitcnt vmcnt(0)\n"
     "meet_asleep:\n"
     "s_sleep 2\n"
     "s_load_dword s6, s[4:5], 0x0 glc\n"
     "s_waitcnt lgkmcnt(0)\n"
     "s_cmp_lt_u32 s6, s7\n"
     "s_cbranch_scc1 meet_asleep\n"
     "s_endpgm",
     {0xC0060100, 0x00000000, 0xC00201C0, 0x00000008, 0xBF8CC07F, 0xBEFE0181, 0x7E000280, 0x7E020281, 0xDD088000, 0x00040100,
      0xBF8C0F70, 0xBF8E0002, 0xC0030182, 0x00000000, 0xBF8CC07F, 0xBF0A0706, 0xBF85FFFA, 0xBF810000},
     7}}};

const AsmCases kCount{{
    {"s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
     "s_mov_b64 exec, 1\n"
     "v_mov_b32_e32 v0, 0\n"
     "v_mov_b32_e32 v1, 1\n"
     "s_waitcnt lgkmcnt(0)\n"
     "global_atomic_add v0, v1, s[4:5]\n"
     "s_endpgm",
     {0xC0060100, 0x00000000, 0xBEFE0181, 0x7E000280, 0x7E020281, 0xBF8CC07F, 0xDD088000, 0x00040100, 0xBF810000},
     7}}};

const AsmCases kEndless{{
    {"endless:\n"
     "s_branch endless\n"
     "s_endpgm",
     {0xBF82FFFF, 0xBF810000},
     7}}};

const AsmCases kLoadNull{{
    {"s_mov_b64 s[4:5], 0\n"
     "s_nop 0\n"
     "s_load_dword s6, s[4:5], 0x8\n"
     "s_waitcnt lgkmcnt(0)\n"
     "s_endpgm",
     {0xBE840180, 0xBF800000, 0xC0020182, 0x00000008, 0xBF8CC07F, 0xBF810000},
     7}}};

const AsmCases kStoreLane63{{
    {"s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
     "v_readfirstlane_b32 s6, v0\n"
     "s_cmp_eq_u32 s6, 64\n"
     "s_cbranch_scc0 store_end\n"
     "s_waitcnt lgkmcnt(0)\n"
     "v_mov_b32_e32 v2, 0\n"
     "s_mov_b32 s6, 0\n"
     "s_brev_b32 s7, 1\n"
     "s_mov_b64 exec, s[6:7]\n"
     "global_store_dword v2, v0, s[4:5]\n"
     "store_end:\n"
     "s_endpgm",
     {0xC0060100, 0x00000000, 0x7E0C0500, 0xBF06C006, 0xBF840007, 0xBF8CC07F, 0x7E040280, 0xBE860080, 0xBE870881, 0xBEFE0106,
      0xDC708000, 0x00040002, 0xBF810000},
     7}}};

const AsmCases kBarrierWithoutWave0{{
    {"s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
     "v_readfirstlane_b32 s6, v0\n"
     "s_cmp_eq_u32 s6, 0\n"
     "s_cbranch_scc1 barrier_end\n"
     "s_barrier\n"
     "s_mov_b64 exec, 1\n"
     "v_mov_b32_e32 v0, 0\n"
     "v_mov_b32_e32 v1, 1\n"
     "s_waitcnt lgkmcnt(0)\n"
     "global_atomic_add v0, v1, s[4:5]\n"
     "barrier_end:\n"
     "s_endpgm",
     {0xC0060100, 0x00000000, 0x7E0C0500, 0xBF068006, 0xBF850007, 0xBF8A0000, 0xBEFE0181, 0x7E000280, 0x7E020281, 0xBF8CC07F,
      0xDD088000, 0x00040100, 0xBF810000},
     7}}};

const AsmCases kBarrierNeverReached{{
    {"v_readfirstlane_b32 s6, v0\n"
     "s_cmp_eq_u32 s6, 0\n"
     "s_cbranch_scc0 never\n"
     "s_barrier\n"
     "s_endpgm\n"
     "never:\n"
     "s_branch never",
     {0x7E0C0500, 0xBF068006, 0xBF840002, 0xBF8A0000, 0xBF810000, 0xBF82FFFF},
     7}}};

const AsmCases kStoreIds{{
    {"s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
     "s_lshl_b32 s6, s2, 6\n"
     "v_add_u32_e32 v1, s6, v0\n"
     "v_lshlrev_b32_e32 v1, 2, v1\n"
     "s_waitcnt lgkmcnt(0)\n"
     "global_store_dword v1, v0, s[4:5]\n"
     "s_endpgm",
     {0xC0060100, 0x00000000, 0x8E068602, 0x68020006, 0x24020282, 0xBF8CC07F, 0xDC708000, 0x00040001, 0xBF810000},
     7}}};

const AsmCases kScratchGfx942{{
    {"s_load_dwordx4 s[8:11], s[0:1], 0x0\n"
     "s_waitcnt lgkmcnt(0)\n"
     "s_mul_i32 s12, s2, s11\n"
     "v_add_u32_e32 v1, s12, v0\n"
     "v_add_u32_e32 v1, 1, v1\n"
     "s_mov_b32 s13, 0\n"
     "scratch942_write:\n"
     "scratch_store_dword off, v1, s13\n"
     "s_add_u32 s13, s13, 4\n"
     "s_cmp_lt_u32 s13, s10\n"
     "s_cbranch_scc1 scratch942_write\n"
     "s_waitcnt vmcnt(0)\n"
     "s_barrier\n"
     "s_mov_b32 s13, 0\n"
     "v_mov_b32_e32 v3, 0\n"
     "scratch942_check:\n"
     "scratch_load_dword v2, off, s13\n"
     "s_waitcnt vmcnt(0)\n"
     "v_xor_b32_e32 v2, v2, v1\n"
     "v_or_b32_e32 v3, v3, v2\n"
     "s_add_u32 s13, s13, 4\n"
     "s_cmp_lt_u32 s13, s10\n"
     "s_cbranch_scc1 scratch942_check\n"
     "v_cmp_ne_u32_e32 vcc, 0, v3\n"
     "s_and_b64 exec, exec, vcc\n"
     "v_mov_b32_e32 v4, 0\n"
     "v_mov_b32_e32 v5, 1\n"
     "global_atomic_add v4, v5, s[8:9]\n"
     "s_endpgm",
     {0xC00A0200, 0x00000000, 0xBF8CC07F, 0x920C0B02, 0x6802000C, 0x68020281, 0xBE8D0080, 0xDC704000, 0x000D0100, 0x800D840D,
      0xBF0A0A0D, 0xBF85FFFB, 0xBF8C0F70, 0xBF8A0000, 0xBE8D0080, 0x7E060280, 0xDC504000, 0x020D0000, 0xBF8C0F70, 0x2A040302,
      0x28060503, 0x800D840D, 0xBF0A0A0D, 0xBF85FFF8, 0x7D9A0680, 0x86FE6A7E, 0x7E080280, 0x7E0A0281, 0xDD088000, 0x00080504,
      0xBF810000},
     6}}};

const AsmCases kScratchGfx90a{{
    {"s_add_u32 s0, s0, s9\n"
     "s_addc_u32 s1, s1, 0\n"
     "s_load_dwordx4 s[12:15], s[4:5], 0x0\n"
     "s_waitcnt lgkmcnt(0)\n"
     "s_mul_i32 s16, s8, s15\n"
     "v_add_u32_e32 v1, s16, v0\n"
     "v_add_u32_e32 v1, 1, v1\n"
     "s_mov_b32 s17, 0\n"
     "scratch90a_write:\n"
     "v_mov_b32_e32 v6, s17\n"
     "buffer_store_dword v1, v6, s[0:3], 0 offen\n"
     "s_add_u32 s17, s17, 4\n"
     "s_cmp_lt_u32 s17, s14\n"
     "s_cbranch_scc1 scratch90a_write\n"
     "s_waitcnt vmcnt(0)\n"
     "s_barrier\n"
     "s_mov_b32 s17, 0\n"
     "v_mov_b32_e32 v3, 0\n"
     "scratch90a_check:\n"
     "v_mov_b32_e32 v6, s17\n"
     "buffer_load_dword v2, v6, s[0:3], 0 offen\n"
     "s_waitcnt vmcnt(0)\n"
     "v_xor_b32_e32 v2, v2, v1\n"
     "v_or_b32_e32 v3, v3, v2\n"
     "s_add_u32 s17, s17, 4\n"
     "s_cmp_lt_u32 s17, s14\n"
     "s_cbranch_scc1 scratch90a_check\n"
     "v_cmp_ne_u32_e32 vcc, 0, v3\n"
     "s_and_b64 exec, exec, vcc\n"
     "v_mov_b32_e32 v4, 0\n"
     "v_mov_b32_e32 v5, 1\n"
     "global_atomic_add v4, v5, s[12:13]\n"
     "s_endpgm",
     {0x80000900, 0x82018001, 0xC00A0302, 0x00000000, 0xBF8CC07F, 0x92100F08, 0x68020010, 0x68020281, 0xBE910080, 0x7E0C0211,
      0xE0701000, 0x80000106, 0x80118411, 0xBF0A0E11, 0xBF85FFFA, 0xBF8C0F70, 0xBF8A0000, 0xBE910080, 0x7E060280, 0x7E0C0211,
      0xE0501000, 0x80000206, 0xBF8C0F70, 0x2A040302, 0x28060503, 0x80118411, 0xBF0A0E11, 0xBF85FFF7, 0x7D9A0680, 0x86FE6A7E,
      0x7E080280, 0x7E0A0281, 0xDD088000, 0x000C0504, 0xBF810000},
     1}}};

const AsmCases kScratchFlatGfx90a{{
    {"s_add_u32 flat_scratch_lo, s6, s9\n"
     "s_addc_u32 flat_scratch_hi, s7, 0\n"
     "s_load_dwordx4 s[12:15], s[4:5], 0x0\n"
     "s_waitcnt lgkmcnt(0)\n"
     "s_mul_i32 s16, s8, s15\n"
     "v_add_u32_e32 v1, s16, v0\n"
     "v_add_u32_e32 v1, 1, v1\n"
     "s_mov_b32 s17, 0\n"
     "scratchf90a_write:\n"
     "scratch_store_dword off, v1, s17\n"
     "s_add_u32 s17, s17, 4\n"
     "s_cmp_lt_u32 s17, s14\n"
     "s_cbranch_scc1 scratchf90a_write\n"
     "s_waitcnt vmcnt(0)\n"
     "s_barrier\n"
     "s_mov_b32 s17, 0\n"
     "v_mov_b32_e32 v3, 0\n"
     "scratchf90a_check:\n"
     "scratch_load_dword v2, off, s17\n"
     "s_waitcnt vmcnt(0)\n"
     "v_xor_b32_e32 v2, v2, v1\n"
     "v_or_b32_e32 v3, v3, v2\n"
     "s_add_u32 s17, s17, 4\n"
     "s_cmp_lt_u32 s17, s14\n"
     "s_cbranch_scc1 scratchf90a_check\n"
     "v_cmp_ne_u32_e32 vcc, 0, v3\n"
     "s_and_b64 exec, exec, vcc\n"
     "v_mov_b32_e32 v4, 0\n"
     "v_mov_b32_e32 v5, 1\n"
     "global_atomic_add v4, v5, s[12:13]\n"
     "s_endpgm",
     {0x80660906, 0x82678007, 0xC00A0302, 0x00000000, 0xBF8CC07F, 0x92100F08, 0x68020010, 0x68020281, 0xBE910080, 0xDC704000,
      0x00110100, 0x80118411, 0xBF0A0E11, 0xBF85FFFB, 0xBF8C0F70, 0xBF8A0000, 0xBE910080, 0x7E060280, 0xDC504000, 0x02110000,
      0xBF8C0F70, 0x2A040302, 0x28060503, 0x80118411, 0xBF0A0E11, 0xBF85FFF8, 0x7D9A0680, 0x86FE6A7E, 0x7E080280, 0x7E0A0281,
      0xDD088000, 0x000C0504, 0xBF810000},
     1}}};

const AsmCases kPersistent{{
    {"s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
     "s_mov_b64 exec, 1\n"
     "v_mov_b32_e32 v0, 0\n"
     "s_mov_b32 s7, 0\n"
     "s_waitcnt lgkmcnt(0)\n"
     "persist:\n"
     "s_sleep 1\n"
     "s_load_dword s6, s[4:5], 0x0 glc\n"
     "s_waitcnt lgkmcnt(0)\n"
     "s_cmp_eq_u32 s6, s7\n"
     "s_cbranch_scc1 persist\n"
     "s_mov_b32 s7, s6\n"
     "v_mov_b32_e32 v1, s6\n"
     "global_store_dword v0, v1, s[4:5] offset:64\n"
     "s_waitcnt vmcnt(0)\n"
     "s_cmp_eq_u32 s6, -1\n"
     "s_cbranch_scc0 persist\n"
     "s_endpgm",
     {0xC0060100, 0x00000000, 0xBEFE0181, 0x7E000280, 0xBE870080, 0xBF8CC07F, 0xBF8E0001, 0xC0030182, 0x00000000, 0xBF8CC07F,
      0xBF060706, 0xBF85FFFA, 0xBE870006, 0x7E020206, 0xDC708040, 0x00040100, 0xBF8C0F70, 0xBF06C106, 0xBF84FFF3, 0xBF810000},
     7}}};

const AsmCases kLdsMirror{{
    {"s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
     "s_load_dword s6, s[0:1], 0x8\n"
     "v_lshlrev_b32_e32 v1, 2, v0\n"
     "ds_write_b32 v1, v0\n"
     "s_waitcnt lgkmcnt(0)\n"
     "s_barrier\n"
     "v_sub_u32_e32 v1, s6, v0\n"
     "v_lshlrev_b32_e32 v1, 2, v1\n"
     "ds_read_b32 v2, v1\n"
     "v_mov_b32_e32 v3, 0\n"
     "s_waitcnt lgkmcnt(0)\n"
     "global_atomic_add v3, v2, s[4:5]\n"
     "s_endpgm",
     {0xC0060100, 0x00000000, 0xC0020180, 0x00000008, 0x24020082, 0xD81A0000, 0x00000001, 0xBF8CC07F, 0xBF8A0000, 0x6A020006,
      0x24020282, 0xD86C0000, 0x02000001, 0x7E060280, 0xBF8CC07F, 0xDD088000, 0x00040203, 0xBF810000},
     7}}};

} // namespace cp_test
