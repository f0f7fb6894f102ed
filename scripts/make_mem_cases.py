#!/usr/bin/env python3
"""Writes tests/isa/cases/*.inc: one or more assembled instructions for every row of the memory opcode tables.

usage: scripts/make_mem_cases.py [LLVM_MC]        (default: llvm-mc-22)

Each line: MEM_CASE(name, form, imm, acc, returns, text, words, targets)
  name    mnemonic without the family's prefix
  form    addressing form, an enumerator of test::MemForm
  imm     instruction offset (DS with two addresses: offset0 | offset1 << 8; MTBUF: see `format` in the text)
  acc     the data registers are AccVGPRs
  returns an atomic that returns the old value
  targets bit mask: 1 gfx90a, 2 gfx942, 4 gfx950
Registers: address v[2:3], data v[8:..], second data v[12:..], result v[16:..] (buffer atomics: v[8:..]), scalar base s[4:5],
resource s[8:11], soffset s12.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MC = sys.argv[1] if len(sys.argv) > 1 else "llvm-mc-22"
TARGETS = {"gfx90a": 1, "gfx942": 2, "gfx950": 4}
MASKS = {"all": 7, "g90a": 1, "g94x": 6, "g950": 4, "g942": 2}
BITS = {"b8": 8, "u8": 8, "i8": 8, "b16": 16, "u16": 16, "i16": 16, "f16": 16, "bf16": 16, "b32": 32, "u32": 32, "i32": 32, "f32": 32,
        "b64": 64, "u64": 64, "i64": 64, "f64": 64}


def rows(table):
    """(mnemonic, target mask, result dwords, [source dwords], flags) of a .def file."""
    for line in (ROOT / "src/sim/isa" / (table + ".def")).read_text().splitlines():
        m = re.match(r'OP\(\d+, \w+, "(\w+)", (\w+), \((.*?)\), \((.*?)\), (\w+)\)', line)
        if m:
            def dwords(spec):
                elem, _, count = spec.partition("*")
                return (BITS[elem] * int(count or 1) + 31) // 32
            results = [dwords(s) for s in m[3].split(", ") if s]
            sources = [dwords(s) for s in m[4].split(", ") if s not in ("", "addr", "none")]
            yield m[1], MASKS[m[2]], results[0] if results else 0, sources, m[5]


def reg(kind, first, dwords):
    return f"{kind}{first}" if dwords == 1 else f"{kind}[{first}:{first + dwords - 1}]"


def assemble(texts, target):
    """Words of each text, None where the target has no such instruction."""
    # An instruction that is refused leaves nothing behind: markers tell the others apart.
    source = "".join(f"  .long 0xfeedface\n  .long {n}\n{t}\n" for n, t in enumerate(texts))
    out = subprocess.run([MC, "-triple=amdgcn", "-mcpu=" + target, "-show-encoding"], input=source, capture_output=True, text=True).stdout
    words, current = {}, None
    pending = False
    for line in out.splitlines():
        if m := re.match(r"\s*\.long\s+(\S+)", line):
            value = int(m[1], 0) & 0xFFFFFFFF
            if value == 0xFEEDFACE and not pending:
                pending = True
            elif pending:
                current, pending = value, False
        elif (m := re.search(r"encoding: \[(.*?)\]", line)) and current is not None:
            data = bytes(int(b, 0) for b in m[1].split(","))
            words[current] = [int.from_bytes(data[i:i + 4], "little") for i in range(0, len(data), 4)]
    return [words.get(n) for n in range(len(texts))]


def flat_like(family, table):
    cases = []
    for n, (mnemonic, mask, result, sources, flags) in enumerate(rows(table)):
        name = mnemonic.split("_", 1)[1]
        lds = "_lds_" in mnemonic
        atomic = flags == "atomic"
        if family == "flat":
            forms = [("vector", "v[2:3]", "", 4 * (n % 5)), ("vector", "v[2:3]", "", 4095 - n % 4)]
        elif family == "global":
            forms = [("vector", "v[2:3]", ", off", -8 * (n % 7)), ("scalar_base", "v2", ", s[4:5]", 4092 - 4 * (n % 3)),
                     ("scalar_base", "v2", ", s[4:5]", -4096)]
        else:
            forms = [("vector", "v2", ", off", 4), ("scalar_base", "off", ", s4", -4 * (n % 3)), ("immediate", "off", ", off", 8 + n % 4),
                     ("vector_and_scalar", "v2", ", s4", 12)]
        for k, (form, vaddr, saddr, imm) in enumerate(forms):
            offset = f" offset:{imm}" if imm else ""
            for acc in ((False, True) if k == 0 and not lds else (False,)):
                kind = "a" if acc else "v"
                data = [reg(kind, 8, sources[0])] if sources else []
                if lds:
                    operands = vaddr + saddr
                    cases.append((name, form, imm, acc, False, f"{mnemonic} {operands}{offset}", mask))
                elif result and not atomic:
                    cases.append((name, form, imm, acc, False, f"{mnemonic} {reg(kind, 16, result)}, {vaddr}{saddr}{offset}", mask))
                else:
                    cases.append((name, form, imm, acc, False, f"{mnemonic} {', '.join([vaddr] + data)}{saddr}{offset}", mask))
                    if atomic:
                        for bit, sub in (("glc", mask & 1), ("sc0", mask & 6)):
                            text = f"{mnemonic} {', '.join([reg(kind, 16, result), vaddr] + data)}{saddr}{offset} {bit}"
                            cases.append((name, form, imm, acc, True, text, sub))
    return cases


BUFFER_FORMS = [("none", "off", ""), ("offen", "v2", " offen"), ("idxen", "v2", " idxen"), ("both", "v[2:3]", " idxen offen")]


def mubuf():
    cases = []
    for n, (mnemonic, mask, result, sources, flags) in enumerate(rows("mubuf")):
        name = mnemonic.split("_", 1)[1]
        if name in ("wbl2", "inv", "invl2", "wbinvl1", "wbinvl1_vol"):
            cases.append((name, "none", 0, False, False, mnemonic, mask))
            continue
        for k, (form, vaddr, bits) in enumerate(BUFFER_FORMS):
            imm = 4 * ((n + k) % 4)
            tail = f", s[8:11], s12{bits}" + (f" offset:{imm}" if imm else "")
            if name == "store_lds_dword":
                address = f"{vaddr}, " if vaddr != "off" else ""
                cases.append((name, form, imm, False, False, f"{mnemonic} {address}{tail[2:]} lds", mask))
                continue
            for acc in ((False, True) if k == 1 else (False,)):
                kind = "a" if acc else "v"
                first = 16 if result and flags != "atomic" else 8
                register = reg(kind, first, result or sources[0])
                if flags == "atomic":
                    register = reg(kind, 8, sources[0])
                cases.append((name, form, imm, acc, False, f"{mnemonic} {register}, {vaddr}{tail}", mask))
                if flags == "atomic":
                    cases += [(name, form, imm, acc, True, f"{mnemonic} {register}, {vaddr}{tail} {bit}", sub) for bit, sub in (("glc", mask & 1), ("sc0", mask & 6))]
            if flags in ("lds", "lds_gfx950"):
                cases.append(("lds_" + name, form, imm, False, False, f"{mnemonic} {vaddr}{tail} lds", mask if flags == "lds" else mask & 4))
    return cases


def mtbuf():
    cases = []
    for n, (mnemonic, mask, result, sources, flags) in enumerate(rows("mtbuf")):
        name = mnemonic.split("_", 1)[1]
        every = name in ("load_format_xyzw", "store_format_xyzw")
        combinations = [(d, k) for d in range(1, 15) for k in range(8)]
        for m, (dfmt, nfmt) in enumerate(combinations):
            if not every and m % 9 != n % 9:
                continue
            form, vaddr, bits = BUFFER_FORMS[m % 4]
            imm = 4 * (m % 3)
            register = reg("v", 16 if result else 8, result or sources[0])
            fmt = f" format:{dfmt | nfmt << 4}" if (dfmt, nfmt) != (1, 0) else ""
            text = f"{mnemonic} {register}, {vaddr}, s[8:11], s12{fmt}{bits}" + (f" offset:{imm}" if imm else "")
            cases.append((name, form, imm, False, False, text, mask))
    return cases


def ds():
    cases = []
    for n, (mnemonic, mask, result, sources, flags) in enumerate(rows("ds")):
        name = mnemonic.split("_", 1)[1]
        if flags == "gds_only":
            operand = " v2" if name in ("gws_init", "gws_sema_br", "gws_barrier") else ""
            cases.append((name, "immediate", 4, False, False, f"{mnemonic}{operand} offset:4 gds", mask))
            continue
        two = bool(re.match(r"(read|write|wrxchg)2", name))
        if name == "nop":
            cases.append((name, "immediate", 0, False, False, mnemonic, mask))
            continue
        if name == "swizzle_b32":
            for imm in (0x801F, 0x041F, 0x7C1F, 0x03E0 & 0x7FFF, 0x80E4, 0x801B, 0xC020, 0xC421, 0xC3FE, 0xC7E3, 0xE000, 0xE010, 0xE01F, 0xE00A):
                cases.append((name, "vector", imm, False, False, f"{mnemonic} v16, v2 offset:{imm}", mask))
            continue
        addressed = not name.endswith("addtid_b32") and name not in ("append", "consume")
        for k, acc in enumerate((False, True, False)):
            kind = "a" if acc else "v"
            operands = [reg(kind, 16, result)] if result else []
            operands += ["v2"] if addressed else []
            operands += [reg(kind, 8 + 4 * i, d) for i, d in enumerate(sources)]
            if two:
                o0, o1 = ((3, 9), (0, 255), (7, 7))[k]
                imm, offset = o0 | o1 << 8, f" offset0:{o0} offset1:{o1}"
                if o0 == 0:
                    offset = f" offset1:{o1}"
            else:
                imm = (8 * (n % 5), 0, 64 + 8 * (n % 3))[k]
                offset = f" offset:{imm}" if imm else ""
            cases.append((name, "vector" if addressed else "immediate", imm, acc, False, f"{mnemonic} {', '.join(operands)}{offset}", mask))
    return cases


def write(file, cases):
    words = {t: assemble([c[5] for c in cases], t) for t in TARGETS}
    lines, skipped = [], 0
    for n, (name, form, imm, acc, returns, text, mask) in enumerate(cases):
        by_words = {}
        for target, bit in TARGETS.items():
            if bit & mask and words[target][n]:
                by_words.setdefault(tuple(words[target][n]), 0)
                by_words[tuple(words[target][n])] |= bit
        skipped += not by_words
        for w, bits in by_words.items():
            boolean = {True: "true", False: "false"}
            lines.append(f'MEM_CASE("{name}", {form}, {imm}, {boolean[acc]}, {boolean[returns]}, "{text}", ({", ".join(f"0x{x:08x}" for x in w)}), {bits})')
    out = ROOT / "tests/isa/cases" / (file + ".inc")
    out.parent.mkdir(exist_ok=True)
    out.write_text(f"// Assembled memory instructions. Generated by scripts/make_mem_cases.py from src/sim/isa/*.def and llvm-mc; do not edit.\n"
                   + "\n".join(lines) + "\n")
    print(file, len(lines), "lines,", skipped, "texts that no target takes")


write("flat", flat_like("flat", "flat"))
write("global", flat_like("global", "global"))
write("scratch", flat_like("scratch", "scratch"))
write("mubuf", mubuf())
write("mtbuf", mtbuf())
write("ds", ds())
