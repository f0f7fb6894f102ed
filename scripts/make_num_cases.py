#!/usr/bin/env python3
"""Writes tests/isa/<family>_cases.inc: assembly texts of the vector operations on small and packed numbers, in every encoding and with
every modifier that the assembler accepts, with their words and targets. Needs llvm-mc-22. Usage: scripts/make_num_cases.py"""
import os, re, subprocess
from collections import OrderedDict

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ARCHS = ["gfx90a", "gfx942", "gfx950"]
BITS = {"i4": 4, "u4": 4, "fp4": 4, "fp6": 6, "bf6": 6, "b8": 8, "i8": 8, "u8": 8, "fp8": 8, "bf8": 8, "b16": 16, "i16": 16, "u16": 16, "f16": 16,
        "bf16": 16, "b32": 32, "i32": 32, "u32": 32, "f32": 32, "mix32": 32, "b64": 64, "i64": 64, "u64": 64, "f64": 64}
FLOATS = {"f16", "f32", "f64", "bf16", "mix32"}

def parse(fmt):
    rows = OrderedDict()
    for line in open(f"{ROOT}/src/sim/isa/{fmt}.def"):
        m = re.match(r'OP\((\d+), (\w+), "(\w+)", (\w+), \((.*?)\), \((.*)\), ([\w|]+)\)', line)
        if not m: continue
        def specs(t):
            out = []
            for s in re.findall(r"(?:tied\([^)]*\)|k\([^)]*\)|[^,\s]+)", t):
                role = "tied" if s.startswith("tied") else "k" if s.startswith("k(") else ""
                s = re.sub(r"^(?:tied|k)\((.*)\)$", r"\1", s)
                e, _, n = s.partition("*")
                out.append((e, int(n or 1), role))
            return out
        rows[m[3]] = dict(fmt=fmt, name=m[3], dst=specs(m[5]), src=specs(m[6]), flags=m[7].split("|"))
    return rows

def reg(base, spec):
    n = (BITS[spec[0]] * spec[1] + 31) // 32
    return f"v{base}" if n == 1 else f"v[{base}:{base + n - 1}]"

def texts(row):
    name, fmt, src = row["name"], row["fmt"], [s for s in row["src"] if s[2] != "tied"]
    wide = any((BITS[s[0]] * s[1] + 31) // 32 > 2 for s in row["src"] + row["dst"])
    bases = [0, 32, 64] if wide else [4, 8, 12]
    d = reg(96 if wide else 2, row["dst"][0])
    r = [reg(b, s) for b, s in zip(bases, src)]
    n = len(src)
    def line(suffix, operands, tail=""): return f"{name}{suffix} {', '.join([d] + operands)}{(' ' + tail) if tail else ''}"
    def but(i, text): return r[:i] + [text] + r[i + 1:]
    out = []
    lit = next((i for i, s in enumerate(src) if s[2] == "k"), None)
    if lit is not None:
        return [line("", but(lit, "0x3d55")), line("", but(lit, "0x8001")), line("", ["s5"] + but(lit, "0x3d55")[1:])]
    scalar = "s[6:7]" if BITS[src[0][0]] * src[0][1] == 64 else "s5"
    if fmt in ("vop1", "vop2"):
        out.append(line("_e32", r))
        out.append(line("_e32", but(0, scalar)))
        out.append(line("_e32", but(0, "1.0" if src[0][0] in FLOATS else "-7")))
        e64 = "_e64"
        if "sdwa" in row["flags"]:
            s1 = " src1_sel:{}" if n > 1 else ""
            for ds, du, a, b in [("DWORD", "UNUSED_PAD", "DWORD", "DWORD"), ("WORD_1", "UNUSED_PRESERVE", "WORD_1", "WORD_0"), ("BYTE_2", "UNUSED_SEXT", "BYTE_1", "BYTE_3"),
                                 ("WORD_0", "UNUSED_SEXT", "WORD_0", "WORD_1"), ("BYTE_3", "UNUSED_PAD", "BYTE_2", "BYTE_0"), ("WORD_0", "UNUSED_PRESERVE", "BYTE_3", "BYTE_2")]:
                out.append(line("_sdwa", r, f"dst_sel:{ds} dst_unused:{du} src0_sel:{a}" + s1.format(b)))
                out.append(line("_sdwa", r, f"src0_sel:{a}" + s1.format(b)))
            if src[0][0] in FLOATS:
                out += [line("_sdwa", but(0, f"-|{r[0]}|"), "dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1" + s1.format("WORD_0")),
                        line("_sdwa", r, "clamp dst_sel:WORD_0 dst_unused:UNUSED_PAD src0_sel:WORD_1" + s1.format("WORD_0")),
                        line("_sdwa", r, "mul:2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0" + s1.format("WORD_0"))]
            else:
                out += [line("_sdwa", but(0, f"sext({r[0]})"), "dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_1" + s1.format("WORD_0")),
                        line("_sdwa", but(0, f"sext({r[0]})"), "src0_sel:WORD_1" + s1.format("BYTE_0"))]
        if "dpp" in row["flags"]:
            out.append(line("_dpp", r, "quad_perm:[3,1,0,2] row_mask:0xf bank_mask:0xf"))
            out.append(line("_dpp", r, "row_newbcast:5 row_mask:0xf bank_mask:0xf"))
            if src[0][0] in FLOATS: out.append(line("_dpp", but(0, f"-|{r[0]}|"), "quad_perm:[1,2,3,0] row_mask:0xf bank_mask:0xf"))
        if "e64" not in row["flags"]: return out
    else:
        e64 = ""
    packed = fmt == "vop3p"
    out.append(line(e64, r))
    for i in range(n):
        w = BITS[src[i][0]] * src[i][1]
        if w <= 64: out.append(line(e64, but(i, "s[6:7]" if w == 64 else "s5")))
        out.append(line(e64, but(i, "1.0" if src[i][0] in FLOATS else "-3")))
        if not packed and src[i][0] in FLOATS:
            out += [line(e64, but(i, f"-{r[i]}")), line(e64, but(i, f"|{r[i]}|")), line(e64, but(i, f"-|{r[i]}|"))]
    out.append(line(e64, r, "clamp"))
    if row["dst"][0][0] in FLOATS and not packed: out += [line(e64, r, f"{m}") for m in ("mul:2", "mul:4", "div:2", "clamp mul:4")]
    if packed:
        for k in range(1, 1 << n):
            bits = [str(k >> i & 1) for i in range(n)]
            out += [line("", r, f"op_sel:[{','.join(bits)}]"), line("", r, f"op_sel_hi:[{','.join(str(1 - int(b)) for b in bits)}]"),
                    line("", r, f"neg_lo:[{','.join(bits)}]"), line("", r, f"neg_hi:[{','.join(bits)}]")]
        out.append(line("", r, f"op_sel:[{','.join(['1'] * n)}] op_sel_hi:[{','.join(['0'] * n)}] neg_lo:[{','.join(['1'] * n)}] clamp"))
        if name.startswith("v_fma_mix"):
            for sel in ("op_sel_hi:[1,0,1]", "op_sel:[1,0,1] op_sel_hi:[1,1,1]", "op_sel:[0,1,0] op_sel_hi:[0,1,1]", "op_sel_hi:[1,1,1] clamp", "op_sel:[1,1,1] op_sel_hi:[1,1,1]"):
                out += [line("", r, sel), line("", but(0, f"-|{r[0]}|"), sel), line("", but(2, f"-{r[2]}"), sel), line("", but(1, f"|{r[1]}|"), sel), line("", but(1, "s5"), sel)]
    elif fmt == "vop3":
        for w in {n + 1, 4, n}:
            for k in range(1, 1 << w):
                out.append(line("", r, f"op_sel:[{','.join(str(k >> i & 1) for i in range(w))}]"))
        if src[0][0] == "f16": out.append(line("", but(0, f"-|{r[0]}|"), f"op_sel:[{','.join(['1'] * (n + 1))}] clamp"))
    return list(OrderedDict.fromkeys(out))

def assemble(arch, lines):
    """Words of each line, None where it is refused."""
    src = "\n".join(lines) + "\n"
    p = subprocess.run(["llvm-mc-22", "-triple=amdgcn", f"-mcpu={arch}", "-show-encoding"], input=src, capture_output=True, text=True)
    bad = {int(m) - 1 for m in re.findall(r"<stdin>:(\d+):\d+: error", p.stderr)}
    good = [i for i in range(len(lines)) if i not in bad]
    enc = re.findall(r"encoding: \[([^\]]*)\]", p.stdout)
    if bad:
        p = subprocess.run(["llvm-mc-22", "-triple=amdgcn", f"-mcpu={arch}", "-show-encoding"], input="\n".join(lines[i] for i in good) + "\n", capture_output=True, text=True)
        enc = re.findall(r"encoding: \[([^\]]*)\]", p.stdout)
    assert len(enc) == len(good), (arch, len(enc), len(good), p.stderr[:400])
    out = [None] * len(lines)
    for i, e in zip(good, enc):
        b = bytes(int(x, 16) for x in e.split(","))
        out[i] = tuple(int.from_bytes(b[k:k + 4], "little") for k in range(0, len(b), 4))
    return out

def family(row):
    n, fmt = row["name"], row["fmt"]
    sixteen = any(s[0] in ("f16", "i16", "u16", "b16") for s in row["dst"] + row["src"])
    if n.startswith("v_cvt_scalef32"): return "scale"
    if n.startswith("v_cvt") or n in ("v_ashr_pk_i8_i32", "v_ashr_pk_u8_i32", "v_prng_b32"): return "cvt"
    if n.startswith("v_dot"): return "dot"
    if re.match(r"v_(rcp|rsq|sqrt|exp|log|sin|cos)(_|$)", n): return "trans"
    if n.startswith("v_pk_") and not n.endswith("_f32") or n.startswith("v_fma_mix"): return "packed"
    if sixteen and fmt in ("vop1", "vop2", "vop3") and not re.match(r"v_(qsad|mqsad|sad|sat)_", n): return "f16"
    return None

def main():
    families = {}
    for fmt in ("vop1", "vop2", "vop3", "vop3p"):
        for row in parse(fmt).values():
            f = family(row)
            if f: families.setdefault(f, []).extend(texts(row))
    for f, lines in families.items():
        per = {a: assemble(a, lines) for a in ARCHS}
        with open(f"{ROOT}/tests/isa/{f}_cases.inc", "w") as out:
            out.write("// Texts, words and targets (bit 0 gfx90a, 1 gfx942, 2 gfx950). Generated by scripts/make_num_cases.py with llvm-mc 22; do not edit.\n")
            for i, text in enumerate(lines):
                groups = OrderedDict()
                for bit, a in enumerate(ARCHS):
                    if per[a][i] is not None: groups[per[a][i]] = groups.get(per[a][i], 0) | 1 << bit
                for words, mask in groups.items():
                    out.write(f'{{"{text}", {{{", ".join(f"0x{w:08x}" for w in words)}}}, {mask}}},\n')
        print(f, sum(1 for _ in open(f"{ROOT}/tests/isa/{f}_cases.inc")) - 1)

main()
