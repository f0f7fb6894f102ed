#!/usr/bin/env python3
"""Writes src/sim/isa/*.def from a directory of opcode tables, one <target>.tsv each, as an LLVM assembler census gives them
(columns: format, opcode, mnemonic, operands as class:bits, example, words).

usage: make_op_tables.py TSV_DIRECTORY OUTPUT_DIRECTORY

Operand *types* are not in the census: they follow from the mnemonic by the rules below, and the rules' widths are
checked against the census' widths for every row.
"""
import os
import re
import sys

TARGETS = ["gfx90a", "gfx942", "gfx950"]
ARCH = {("gfx90a", "gfx942", "gfx950"): "all", ("gfx90a",): "g90a", ("gfx942",): "g942", ("gfx950",): "g950",
        ("gfx942", "gfx950"): "g94x", ("gfx90a", "gfx942"): "g90a|g942"}
BITS = {"b8": 8, "i8": 8, "u8": 8, "b16": 16, "i16": 16, "u16": 16, "f16": 16, "bf16": 16, "b32": 32, "i32": 32, "u32": 32,
        "f32": 32, "xf32": 32, "b64": 64, "i64": 64, "u64": 64, "f64": 64, "fp8": 8, "bf8": 8, "fp6": 6, "bf6": 6, "fp4": 4,
        "i4": 4, "u4": 4, "mask": 64, "i24": 32, "u24": 32, "f8f6f4": 8}
TYPE = re.compile(r"^(b8|b16|b32|b64|i4|i8|i16|i24|i32|i64|u4|u8|u16|u24|u32|u64|f16|f32|f64|bf16|fp8|bf8|fp6|bf6|fp4|xf32)$")


def read_tables(directory):
    """(format, code) -> {mnemonic: {target: (operands, example, words)}}"""
    rows = {}
    for target in TARGETS:
        with open(os.path.join(directory, target + ".tsv")) as f:
            next(f)
            for line in f:
                fmt, code, mnemonic, operands, example, words = line.rstrip("\n").split("\t")
                rows.setdefault((fmt, int(code)), {}).setdefault(base_name(mnemonic), {})[target] = (
                    operands.split(",") if operands else [], example, words)
    for fmt, code in (("SOPP", 0),):
        rows[(fmt, code)] = {"s_nop": {t: (["imm"], "s_nop 0", "0xbf800000") for t in TARGETS}}
    return rows


def base_name(mnemonic):
    return re.sub(r"_(e32|e64|sdwa|dpp)$", "", mnemonic)


def types_of(name):
    return [t for t in name.split("_") if TYPE.match(t)]


# --- spec helpers: an operand is a string of the .def language; its width in bits is computed for the check
def width(spec):
    m = re.match(r"^(?:\w+\()?(\w+?)(?:\s*\*\s*(\d+))?\)?$", spec)
    elem, count = m.group(1), int(m.group(2) or 1)
    return (BITS[elem] * count + 31) // 32 * 32


def times(elem, count):
    return elem if count == 1 else f"{elem}*{count}"


def fill(elem, bits):
    """elem repeated until it fills `bits`."""
    if elem in ("i24", "u24"):
        elem = elem[0] + "32"
    return times(elem, max(1, bits // BITS[elem]))


# --- scalar ALU
def sop2(name, ops):
    special = {
        "s_cbranch_g_fork": ([], ["b64", "b64"]), "s_rfe_restore_b64": ([], ["b64", "b32"]),
        "s_bfm_b64": (["b64"], ["u32", "u32"]),
    }
    if name in special:
        return special[name]
    t = types_of(name)[0] if name.startswith("s_pack") else types_of(name)[-1]
    if name.startswith(("s_lshl", "s_lshr", "s_ashr", "s_bfe")) and "_add_" not in name:
        return [t], [t, "u32"]
    return [t], [t, t]


def sop1(name, ops):
    special = {
        "s_getpc_b64": (["b64"], []), "s_setpc_b64": ([], ["b64"]), "s_rfe_b64": ([], ["b64"]),
        "s_cbranch_join": ([], ["b32"]), "s_set_gpr_idx_idx": ([], ["b32"]), "s_sext_i32_i8": (["i32"], ["b32"]),
        "s_sext_i32_i16": (["i32"], ["b32"]), "s_bitset0_b64": (["b64"], ["u32"]), "s_bitset1_b64": (["b64"], ["u32"]),
        "s_bitset0_b32": (["b32"], ["u32"]), "s_bitset1_b32": (["b32"], ["u32"]), "s_flbit_i32": (["i32"], ["i32"]),
    }
    if name in special:
        return special[name]
    t = types_of(name)
    return [t[0]], [t[-1]]


def sopc(name, ops):
    if name.startswith("s_bitcmp"):
        return [], [types_of(name)[0], "u32"]
    if name == "s_set_gpr_idx_on":
        return [], ["b32", "imm"]
    if name == "s_setvskip":
        return [], ["b32", "b32"]
    t = types_of(name)[0]
    return [], [t, t]


def sopk(name, ops):
    special = {
        "s_cbranch_i_fork": ([], ["b64", "simm16"]), "s_getreg_b32": (["b32"], ["simm16"]), "s_setreg_b32": ([], ["b32", "simm16"]),
        "s_setreg_imm32_b32": ([], ["k(b32)", "simm16"]), "s_call_b64": (["b64"], ["simm16"]),
    }
    if name in special:
        return special[name]
    t = types_of(name)[0]
    if name.startswith("s_cmpk"):
        return [], [t, "simm16"]
    if name in ("s_addk_i32", "s_mulk_i32"):
        return [t], ["tied(%s)" % t, "simm16"]
    return [t], ["simm16"]


def sopp(name, ops):
    return [], ["simm16"] if ops else []


def smem(name, ops):
    scratch_or_buffer = "b32*4" if "_buffer" in name else "b64"
    m = re.match(r"s_(?:buffer_|scratch_)?load_dword(?:x(\d+))?$", name)
    if m:
        return [times("b32", int(m.group(1) or 1))], [scratch_or_buffer]
    m = re.match(r"s_(?:buffer_|scratch_)?store_dword(?:x(\d+))?$", name)
    if m:
        return [], [scratch_or_buffer, times("b32", int(m.group(1) or 1))]
    if "atomic" in name:
        data, ret = atomic_types(name)
        return [ret], [scratch_or_buffer, data]
    if name in ("s_memtime", "s_memrealtime"):
        return ["b64"], []
    if name.startswith("s_atc_probe"):
        return [], [scratch_or_buffer, "imm"]
    if name.startswith("s_dcache_discard"):
        return [], ["b64"]
    return [], []


# --- memory
def atomic_types(name):
    """(data, result) of an atomic."""
    x2 = name.endswith("_x2") or name.endswith("64")
    core = name[:-3] if name.endswith("_x2") else name
    if core.endswith("pk_add_f16"):
        return "f16*2", "f16*2"
    if core.endswith("pk_add_bf16"):
        return "bf16*2", "bf16*2"
    for t in ("f32", "f64"):
        if core.endswith(t):
            return t, t
    kind = core.split("_")[-1]
    size = "64" if x2 else "32"
    if kind == "cmpswap":
        return "b%s*2" % size, "b" + size
    letter = {"swap": "b", "and": "b", "or": "b", "xor": "b", "add": "u", "sub": "u", "umin": "u", "umax": "u", "inc": "u",
              "dec": "u", "smin": "i", "smax": "i"}[kind]
    return letter + size, letter + size


def memory_data(name, bits):
    """Type of what a load or store moves."""
    if "format" in name:
        channels = len(name.split("_")[-1])
        if "d16" in name:
            return times("b16", channels)
        return times("b32", channels)
    for text, t in (("ubyte", "u8"), ("sbyte", "i8"), ("ushort", "u16"), ("sshort", "i16"), ("byte", "b8"), ("short", "b16")):
        if "_" + text in name:
            return t
    m = re.search(r"dword(?:x(\d))?$", name)
    return times("b32", int(m.group(1) or 1))


def vmem(name, ops):
    """FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF"""
    if re.match(r"buffer_(wb|inv)", name):
        return [], []
    if "_atomic_" in name:
        data, ret = atomic_types(name)
        return [ret], ["addr", data]
    if "_lds_" in name:
        return [], ["addr"]
    bits = 0
    t = memory_data(name, bits)
    return ([t], ["addr"]) if "load" in name else ([], ["addr", t])


def ds(name, ops):
    special = {
        "ds_nop": ([], []), "ds_swizzle_b32": (["b32"], ["addr"]), "ds_permute_b32": (["b32"], ["addr", "b32"]),
        "ds_bpermute_b32": (["b32"], ["addr", "b32"]), "ds_write_addtid_b32": ([], ["none", "b32"]),
        "ds_read_addtid_b32": (["b32"], []), "ds_consume": (["b32"], []), "ds_append": (["b32"], []),
        "ds_condxchg32_rtn_b64": (["b64"], ["addr", "b64"]),
    }
    if name in special:
        return special[name]
    if name.startswith("ds_gws"):
        return [], ["addr"] if "vgpr:32" in ops else []
    m = re.match(r"ds_(read|write)(2|2st64)?_(b32|b64|b96|b128|b8|b16|i8|u8|i16|u16)(_d16|_d16_hi)?(?:_tr_b(\d+))?$", name)
    if not m:
        m2 = re.match(r"ds_read_([ui](?:8|16))_d16(_hi)?$", name)
        if m2:
            return [m2.group(1)], ["addr"]
        m2 = re.match(r"ds_write_b(8|16)_d16_hi$", name)
        if m2:
            return [], ["addr", "b" + m2.group(1)]
    if m:
        t = {"b96": "b32*3", "b128": "b32*4"}.get(m.group(3), m.group(3))
        if m.group(1) == "read":
            return [t + "*2" if m.group(2) else t], ["addr"]
        return [], ["addr", t, t] if m.group(2) else ["addr", t]
    t = types_of(name)[-1]
    if name.startswith("ds_pk_add"):
        t += "*2"
    rtn = "_rtn_" in name
    core = name.replace("_rtn", "")
    two = core.startswith(("ds_mskor", "ds_cmpst", "ds_wrap", "ds_wrxchg2"))
    ret = t + "*2" if core.startswith("ds_wrxchg2") else t
    return ([ret] if rtn else []), ["addr", t, t] if two else ["addr", t]


# --- vector ALU
VOP_SPECIAL = {
    # VOP1
    "v_nop": ([], []), "v_clrexcp": ([], []),
    "v_readfirstlane_b32": (["sgpr(b32)"], ["b32"]),
    "v_cvt_off_f32_i4": (["f32"], ["b32"]), "v_sat_pk_u8_i16": (["u8*2"], ["i16*2"]),
    "v_swap_b32": (["b32"], ["swap(b32)"]), "v_permlane16_swap_b32": (["b32"], ["swap(b32)"]), "v_permlane32_swap_b32": (["b32"], ["swap(b32)"]),
    "v_accvgpr_mov_b32": (["acc(b32)"], ["acc(b32)"]), "v_accvgpr_read_b32": (["b32"], ["acc(b32)"]), "v_accvgpr_write_b32": (["acc(b32)"], ["b32"]),
    "v_screen_partition_4se_b32": (["b32"], ["b32"]),
    "v_cvt_f32_fp8": (["f32"], ["fp8*4"]), "v_cvt_f32_bf8": (["f32"], ["bf8*4"]),
    "v_cvt_pk_f32_fp8": (["f32*2"], ["fp8*4"]), "v_cvt_pk_f32_bf8": (["f32*2"], ["bf8*4"]),
    "v_cvt_norm_i16_f16": (["i16"], ["f16"]), "v_cvt_norm_u16_f16": (["u16"], ["f16"]),
    "v_cvt_rpi_i32_f32": (["i32"], ["f32"]), "v_cvt_flr_i32_f32": (["i32"], ["f32"]),
    "v_cvt_f32_ubyte0": (["f32"], ["b32"]), "v_cvt_f32_ubyte1": (["f32"], ["b32"]), "v_cvt_f32_ubyte2": (["f32"], ["b32"]),
    "v_cvt_f32_ubyte3": (["f32"], ["b32"]),
    # VOP2
    "v_cndmask_b32": (["b32"], ["b32", "b32", "mask"]),
    "v_add_co_u32": (["u32", "mask"], ["u32", "u32"]), "v_sub_co_u32": (["u32", "mask"], ["u32", "u32"]),
    "v_subrev_co_u32": (["u32", "mask"], ["u32", "u32"]),
    "v_addc_co_u32": (["u32", "mask"], ["u32", "u32", "mask"]), "v_subb_co_u32": (["u32", "mask"], ["u32", "u32", "mask"]),
    "v_subbrev_co_u32": (["u32", "mask"], ["u32", "u32", "mask"]),
    "v_madmk_f32": (["f32"], ["f32", "k(f32)", "f32"]), "v_madak_f32": (["f32"], ["f32", "f32", "k(f32)"]),
    "v_fmamk_f32": (["f32"], ["f32", "k(f32)", "f32"]), "v_fmaak_f32": (["f32"], ["f32", "f32", "k(f32)"]),
    "v_madmk_f16": (["f16"], ["f16", "k(f16)", "f16"]), "v_madak_f16": (["f16"], ["f16", "f16", "k(f16)"]),
    "v_ldexp_f16": (["f16"], ["f16", "i16"]),
    "v_dot2c_f32_f16": (["f32"], ["f16*2", "f16*2", "tied(f32)"]), "v_dot2c_f32_bf16": (["f32"], ["bf16*2", "bf16*2", "tied(f32)"]),
    "v_dot2c_i32_i16": (["i32"], ["i16*2", "i16*2", "tied(i32)"]), "v_dot4c_i32_i8": (["i32"], ["i8*4", "i8*4", "tied(i32)"]),
    "v_dot8c_i32_i4": (["i32"], ["i4*8", "i4*8", "tied(i32)"]), "v_pk_fmac_f16": (["f16*2"], ["f16*2", "f16*2", "tied(f16*2)"]),
    # VOP3 only
    "v_mad_i32_i24": (["i32"], ["i32", "i32", "i32"]), "v_mad_u32_u24": (["u32"], ["u32", "u32", "u32"]),
    "v_lerp_u8": (["u8*4"], ["u8*4", "u8*4", "u8*4"]),
    "v_sad_u8": (["u32"], ["u8*4", "u8*4", "u32"]), "v_sad_hi_u8": (["u32"], ["u8*4", "u8*4", "u32"]),
    "v_sad_u16": (["u32"], ["b32", "b32", "u32"]), "v_msad_u8": (["u32"], ["u8*4", "u8*4", "u32"]),
    "v_cvt_pk_u8_f32": (["u8*4"], ["f32", "u32", "u32"]), "v_cvt_pkaccum_u8_f32": (["u8*4"], ["f32", "u32"]),
    "v_div_scale_f32": (["f32", "mask"], ["f32", "f32", "f32"]), "v_div_scale_f64": (["f64", "mask"], ["f64", "f64", "f64"]),
    "v_qsad_pk_u16_u8": (["u64"], ["u64", "u32", "u64"]), "v_mqsad_pk_u16_u8": (["u64"], ["u64", "u32", "u64"]),
    "v_mqsad_u32_u8": (["u32*4"], ["u64", "u32", "u32*4"]),
    "v_mad_u64_u32": (["u64", "mask"], ["u32", "u32", "u64"]), "v_mad_i64_i32": (["i64", "mask"], ["i32", "i32", "i64"]),
    "v_mad_u32_u16": (["u32"], ["u16", "u16", "u32"]), "v_mad_i32_i16": (["i32"], ["i16", "i16", "i32"]),
    "v_ldexp_f64": (["f64"], ["f64", "i32"]), "v_ldexp_f32": (["f32"], ["f32", "i32"]), "v_trig_preop_f64": (["f64"], ["f64", "u32"]),
    "v_readlane_b32": (["sgpr(b32)"], ["b32", "sgpr(u32)"]), "v_writelane_b32": (["b32"], ["sgpr(b32)", "sgpr(u32)", "tied(b32)"]),
    "v_bcnt_u32_b32": (["u32"], ["b32", "u32"]), "v_mbcnt_lo_u32_b32": (["u32"], ["b32", "u32"]), "v_mbcnt_hi_u32_b32": (["u32"], ["b32", "u32"]),
    "v_lshlrev_b64": (["b64"], ["u32", "b64"]), "v_lshrrev_b64": (["b64"], ["u32", "b64"]), "v_ashrrev_i64": (["i64"], ["u32", "i64"]),
    "v_lshl_add_u64": (["u64"], ["u64", "u32", "u64"]),
    "v_pack_b32_f16": (["b32"], ["f16", "f16"]),
    "v_cvt_pkrtz_f16_f32": (["f16*2"], ["f32", "f32"]), "v_cvt_pknorm_i16_f32": (["i16*2"], ["f32", "f32"]),
    "v_cvt_pknorm_u16_f32": (["u16*2"], ["f32", "f32"]), "v_cvt_pknorm_i16_f16": (["i16*2"], ["f16", "f16"]),
    "v_cvt_pknorm_u16_f16": (["u16*2"], ["f16", "f16"]), "v_cvt_pk_u16_u32": (["u16*2"], ["u32", "u32"]), "v_cvt_pk_i16_i32": (["i16*2"], ["i32", "i32"]),
    "v_cvt_pk_f16_f32": (["f16*2"], ["f32", "f32"]), "v_cvt_pk_bf16_f32": (["bf16*2"], ["f32", "f32"]),
    "v_cvt_pk_fp8_f32": (["fp8*2"], ["f32", "f32"]), "v_cvt_pk_bf8_f32": (["bf8*2"], ["f32", "f32"]),
    "v_cvt_sr_fp8_f32": (["fp8"], ["f32", "u32"]), "v_cvt_sr_bf8_f32": (["bf8"], ["f32", "u32"]),
    "v_cvt_sr_f16_f32": (["f16"], ["f32", "u32"]), "v_cvt_sr_bf16_f32": (["bf16"], ["f32", "u32"]),
    "v_ashr_pk_i8_i32": (["i8*2"], ["i32", "i32", "u32"]), "v_ashr_pk_u8_i32": (["u8*2"], ["i32", "i32", "u32"]),
    # VOP3P
    "v_fma_mix_f32": (["f32"], ["mix32", "mix32", "mix32"]), "v_fma_mixlo_f16": (["f16"], ["mix32", "mix32", "mix32"]),
    "v_fma_mixhi_f16": (["f16"], ["mix32", "mix32", "mix32"]),
    "v_dot2_f32_bf16": (["f32"], ["bf16*2", "bf16*2", "f32"]), "v_dot2_f32_f16": (["f32"], ["f16*2", "f16*2", "f32"]),
    "v_dot2_i32_i16": (["i32"], ["i16*2", "i16*2", "i32"]), "v_dot2_u32_u16": (["u32"], ["u16*2", "u16*2", "u32"]),
    "v_dot4_i32_i8": (["i32"], ["i8*4", "i8*4", "i32"]), "v_dot4_u32_u8": (["u32"], ["u8*4", "u8*4", "u32"]),
    "v_dot8_i32_i4": (["i32"], ["i4*8", "i4*8", "i32"]), "v_dot8_u32_u4": (["u32"], ["u4*8", "u4*8", "u32"]),
    "v_pk_mov_b32": (["b32*2"], ["b32*2", "b32*2"]),
}
BITS["mix32"] = 32


def scalef32(name):
    """v_cvt_scalef32_*: source operand(s), for sr a seed, then the f32 scale (only its exponent is used)."""
    core = name.replace("v_cvt_scalef32_", "")
    sr = core.startswith("sr_")
    core = core.replace("sr_", "", 1) if sr else core
    m = re.match(r"(?:(2xpk16|pk32|pk)_)?(\w+?)_(\w+)$", core)
    pack, to, frm = m.groups()
    small = {"fp8": 4, "bf8": 4, "fp4": 8}
    seed = ["u32"] if sr else []
    if pack == "2xpk16":
        return [times(to, 32)], ["f32*16", "f32*16", "f32"]
    if pack == "pk32":
        return [times(to, 32)], [times(frm, 32)] + seed + ["f32"]
    if frm in small:  # from small to wide
        return [times(to, 2) if pack == "pk" else to], [times(frm, small[frm]), "f32"]
    n = 2 if pack == "pk" else 1
    dst = times(to, n)
    if pack == "pk":
        if frm == "f32":
            srcs = ["f32*2"] if sr else ["f32", "f32"]
        else:
            srcs = [frm + "*2"]
    else:
        srcs = [frm]
    return [dst], srcs + seed + ["f32"]


def matrix(name, regs):
    """regs: register widths from the census, destination first."""
    toks = name.split("_")
    out = toks[2] if "scale" not in name else toks[3]
    if name.startswith("v_mfma_scale"):
        return [fill("f32", regs[0])], ["f8f6f4*32", "f8f6f4*32", fill("f32", regs[0])]
    if "f8f6f4" in name:
        return [fill("f32", regs[0])], ["f8f6f4*32", "f8f6f4*32", fill("f32", regs[0])]
    tail = toks[-1] if toks[-1] != "1k" else toks[-2]
    ins = re.findall(r"(bf16|f16|f32|f64|i8|fp8|bf8)$", tail.replace("xf32", "f32"))
    b = ins[0]
    a = toks[-2] if toks[-2] in ("fp8", "bf8") else b
    if "xf32" in name:
        a = b = "xf32"
    if "smfmac" in name:
        return [fill(out, regs[0])], [fill(a, regs[1]), fill(b, regs[2]), "b32", "tied(%s)" % fill(out, regs[0])]
    return [fill(out, regs[0])], [fill(a, regs[1]), fill(b, regs[2]), fill(out, regs[0])]


def vop(name, ops, fmt):
    regs = [int(o.split(":")[1]) for o in ops if ":" in o and o.split(":")[1].isdigit()]
    if name in VOP_SPECIAL:
        return VOP_SPECIAL[name]
    if "mfma" in name or "smfmac" in name:
        return matrix(name, regs)
    if name.startswith("v_cvt_scalef32"):
        return scalef32(name)
    t = types_of(name)
    if fmt == "VOPC":
        return ["mask"], [t[0], "b32" if "class" in name else t[0]]
    if fmt == "VOP1":
        return [t[0]], [t[-1]]
    n = len(regs) - 1
    if name.startswith("v_pk_"):
        e = t[-1]
        if name.startswith(("v_pk_lshl", "v_pk_lshr")):
            e = "u16"
        e += "*2"
        return [e], [e] * n
    if fmt == "VOP2":
        e = t[0]
        if name.startswith(("v_mac_", "v_fmac_")):
            return [e], [e, e, "tied(%s)" % e]
        if name.startswith(("v_lshlrev", "v_lshrrev", "v_ashrrev")):
            return [e], ["u16" if "16" in e else "u32", e]
        e = e.replace("24", "32")
        return [e], [e, e]
    e = t[0]
    return [e], [e] * n


# --- names: gfx940 respelled the MFMA of gfx90a
def op_names(rows):
    """mnemonic -> enumerator. Respelled instructions share the newer name."""
    new = {}
    for (fmt, code), by_name in rows.items():
        for name, targets in by_name.items():
            if "mfma" in name and "gfx942" in targets:
                m = re.match(r"(v_mfma_\w+?_\d+x\d+x\d+)(?:_\d+b)?_(f16|bf16|f32|f64|i8)$", name)
                if m:
                    new[(m.group(1), m.group(2))] = name
    result = {}
    for (fmt, code), by_name in rows.items():
        for name, targets in by_name.items():
            m = re.match(r"(v_mfma_\w+?_\d+x\d+x\d+)(f16|bf16_1k|f32|f64|i8)$", name)
            if m:
                key = (m.group(1), m.group(2).replace("_1k", ""))
                result[name] = new.get(key, name)
            else:
                result[name] = name
    return result


HEADER = """// Opcodes of format {fmt}: OP(code, enumerator, mnemonic, targets, (results), (sources), flags).
// Generated by scripts/make_op_tables.py from an assembler census of each target; do not edit.
"""


def main():
    tables, out = sys.argv[1], sys.argv[2]
    rows = read_tables(tables)
    names = op_names(rows)
    ops_in_order = []
    handlers = {"SOP2": sop2, "SOP1": sop1, "SOPC": sopc, "SOPK": sopk, "SOPP": sopp, "SMEM": smem, "DS": ds}
    formats = ["SOP2", "SOPK", "SOP1", "SOPC", "SOPP", "SMEM", "VOP1", "VOP2", "VOPC", "VOP3", "VOP3P", "VOP3PX", "DS", "FLAT", "GLOBAL",
               "SCRATCH", "MUBUF", "MTBUF"]
    for fmt in formats:
        lines = [HEADER.format(fmt=fmt)]
        for (f, code) in sorted(k for k in rows if k[0] == fmt):
            if fmt == "VOP3" and code < 448:
                continue  # derived from VOPC, VOP1, VOP2 by opcode offset
            for name, targets in rows[(f, code)].items():
                some = next(iter(targets.values()))[0]
                if fmt in handlers:
                    dst, src = handlers[fmt](name, some)
                elif fmt.startswith("VOP"):
                    dst, src = vop(name, some, fmt)
                else:
                    dst, src = vmem(name, some)
                check(fmt, name, some, dst, src)
                flags = flags_of(rows, fmt, code, name)
                if names[name] not in ops_in_order:
                    ops_in_order.append(names[name])
                lines.append(f'OP({code}, {names[name]}, "{name}", {ARCH[tuple(t for t in TARGETS if t in targets)]}, '
                             f'({", ".join(dst)}), ({", ".join(src)}), {flags})\n')
        with open(os.path.join(out, fmt.lower() + ".def"), "w") as f:
            f.writelines(lines)
    with open(os.path.join(out, "ops.def"), "w") as f:
        f.write("// Every base mnemonic once: AQL_ISA_OP(enumerator). Respelled instructions (gfx940's MFMA names) share one enumerator.\n"
                "// Generated by scripts/make_op_tables.py; do not edit.\n")
        for name in ops_in_order:
            f.write(f"AQL_ISA_OP({name})\n")
    print(len(ops_in_order), "ops")


def check(fmt, name, ops, dst, src):
    """The rules' register widths against the census'."""
    if not fmt.startswith(("VOP", "SOP", "SMEM")) or fmt == "VOP3PX" or "_atomic_" in name:
        return  # the census has scalar atomics without their result only
    want = sorted(int(o.split(":")[1]) for o in ops if ":" in o and o.split(":")[1].isdigit())
    have = []
    for s in dst + src:
        if s in ("simm16", "imm", "addr", "none") or s.startswith("k("):
            continue
        if s == "mask" and fmt in ("VOP2", "VOPC"):
            continue
        if s.startswith("swap("):
            have += [32, 32, 32]
            continue
        have.append(width(s))
    if name.startswith("v_permlane") or name == "v_swap_b32":
        have = [32] * 4
    tied_ok = sorted(have) == want
    no_tied = sorted(width(s) for s in dst + src if not s.startswith(("tied", "k(")) and s not in ("simm16", "imm", "addr", "none") and not (s == "mask" and fmt in ("VOP2", "VOPC")))
    extra = list(no_tied)
    for w in want:
        if w in extra:
            extra.remove(w)
    if not tied_ok and no_tied != want and not (not extra and len(want) - len(no_tied) <= 1):
        print("width mismatch:", fmt, name, "census", want, "rules", have, file=sys.stderr)


def flags_of(rows, fmt, code, name):
    flags = []
    def has(f, c):
        return name in rows.get((f, c), {})
    if fmt in ("VOP1", "VOP2", "VOPC"):
        if has("VOP3", code + {"VOPC": 0, "VOP2": 256, "VOP1": 320}[fmt]):
            flags.append("e64")
        if has(fmt + "_SDWA", code):
            flags.append("sdwa")
        if has(fmt + "_DPP", code):
            flags.append("dpp")
    if "mfma" in name or "smfmac" in name or name.startswith(("v_accvgpr_read", "v_accvgpr_write")):
        flags.append("mai")
    if "_atomic_" in name:
        flags.append("atomic")
    if fmt == "MUBUF":
        lds = [t for t in TARGETS if t in rows.get(("MUBUF_LDS", code), {}).get(name, {})]
        if lds:
            flags.append("lds" if len(lds) == 3 else "lds_" + lds[0])
    if name.startswith("ds_gws"):
        flags.append("gds_only")
    return "|".join(flags) if flags else "plain"


main()
