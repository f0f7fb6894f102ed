#!/usr/bin/env python3
"""Makes C programs from seeds: make_programs.py FIRST COUNT [FEATURE...] prints programs p<FIRST> .. as one source file.

A program is a struct or two, helper functions, perhaps a recursive one and a table of functions, and three phases (program.h).
Every program has a defined result: shifts are masked, divisions guarded, loops bounded, indexes masked, NaNs made one pattern.
"""
import os
import random
import sys

WIDTH = {"u8": 8, "i8": 8, "u16": 16, "i16": 16, "u32": 32, "i32": 32, "u64": 64, "i64": 64}
INTS = list(WIDTH)
FLOATS = ["f32", "f64", "f16"]
SCALARS = INTS + FLOATS
EDGES = [0, 1, 2, 3, 7, 31, 32, 63, 64, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x100000000, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF]
FLOAT_EDGES = ["0.0", "1.0", "0.5", "3.0", "-1.0", "-0.0", "1.5", "1e-3", "123.456", "-7.25", "65504.0", "0.1"]


class Scope:
    """Names in reach, by type: `read` for values, `write` for what may be assigned."""

    def __init__(self, outer=None):
        self.read = {t: list(outer.read[t]) for t in SCALARS} if outer else {t: [] for t in SCALARS}
        self.write = {t: list(outer.write[t]) for t in SCALARS} if outer else {t: [] for t in SCALARS}
        self.arrays = list(outer.arrays) if outer else []  # (expression, element type, length), private and writable
        self.structs = list(outer.structs) if outer else []  # (name, struct number)

    def add(self, kind, name, writable=True):
        self.read[kind].append(name)
        if writable:
            self.write[kind].append(name)


class Program:
    def __init__(self, seed):
        self.r = random.Random(seed * 7919 + 17)
        self.name = f"p{seed}"
        self.fresh = 0
        self.structs = []   # lists of (type, field)
        self.functions = []  # (name, result type, argument types)
        self.tables = []    # (name, length): functions of (u32, u32)
        self.loops = 0
        self.floats = self.r.random() < 0.75
        self.halves = self.r.random() < 0.5

    def id(self, prefix="v"):
        self.fresh += 1
        return f"{prefix}{self.fresh}"

    def pick(self, *weighted):
        total = sum(w for w, _ in weighted)
        at = self.r.uniform(0, total)
        for w, value in weighted:
            at -= w
            if at <= 0:
                return value
        return weighted[-1][1]

    def scalar(self):
        return self.pick((6, "u32"), (4, "i32"), (2, "u64"), (2, "i64"), (1, "u8"), (1, "i8"), (1, "u16"), (1, "i16"),
                         (4 if self.floats else 0, "f32"), (2 if self.floats else 0, "f64"), (2 if self.halves else 0, "f16"))

    # --- expressions: always of type `t` exactly

    def constant(self, t):
        r = self.r
        if t == "f32":
            return r.choice(FLOAT_EDGES) + "f"
        if t == "f64":
            return r.choice(FLOAT_EDGES)
        if t == "f16":
            return f"(f16){r.choice(FLOAT_EDGES)}f"
        value = r.choice(EDGES) if r.random() < 0.4 else r.getrandbits(r.choice([4, 8, 16, 32, 64]))
        return f"({t})0x{value & ((1 << WIDTH[t]) - 1):x}u"

    def leaf(self, t, s):
        names = s.read[t]
        if names and self.r.random() < 0.7:
            return self.r.choice(names)
        if self.r.random() < 0.45:
            return self.constant(t)
        others = [o for o in SCALARS if s.read[o] and o != t]
        if not others:
            return self.constant(t)
        other = self.r.choice(others)
        return self.convert(t, other, self.r.choice(s.read[other]))

    def convert(self, t, other, text):
        if t in WIDTH and other in WIDTH:
            return f"({t})({text})"
        if t in WIDTH:
            if self.r.random() < 0.5:
                return f"({t})bits{ {'f32': 32, 'f64': 64, 'f16': 16}[other]}({text})"
            if other == "f16":
                return f"({t})htoi32({text})"
            if other == "f32":
                return f"({t}){'to_u32' if t[0] == 'u' else 'to_i32'}({text})"
            return f"({t}){self.r.choice(['dtoi32', 'to_i64' if t[0] == 'i' else 'to_u64'])}({text})"
        if other in WIDTH:
            if t == "f32" and WIDTH[other] == 32 and self.r.random() < 0.2:
                return f"float_of((u32)({text}))"
            if t == "f64" and WIDTH[other] == 64 and self.r.random() < 0.2:
                return f"double_of((u64)({text}))"
            if t == "f16":
                return f"half_of((u32)({text}))" if self.r.random() < 0.4 else f"(f16)(f32)(i16)({text})"
            return f"({t})({text})"
        if t == "f16" and other == "f64":
            return f"(f16)(f32)({text})"
        return f"({t})({text})"

    def expr(self, t, s, depth):
        if depth <= 0:
            return self.leaf(t, s)
        if t in WIDTH:
            return self.int_expr(t, s, depth)
        return self.float_expr(t, s, depth)

    def condition(self, s, depth):
        t = self.scalar()
        a, b = self.expr(t, s, depth - 1), self.expr(t, s, depth - 1)
        text = f"({a}) {self.r.choice(['<', '<=', '>', '>=', '==', '!='])} ({b})"
        if depth > 1 and self.r.random() < 0.25:
            text = f"({text}) {self.r.choice(['&&', '||'])} ({self.condition(s, depth - 2)})"
        return text

    def int_expr(self, t, s, depth):
        r, w = self.r, WIDTH[t]
        e = lambda kind=t: self.expr(kind, s, depth - 1)
        unsigned = "u" + t[1:]
        kind = self.pick((5, "arith"), (3, "logic"), (3, "shift"), (1, "divide"), (2, "compare"), (2, "select"), (2, "cast"), (2, "special"), (1, "unary"),
                         (2, "array"), (1.5, "call"), (1, "field"))
        if kind == "arith":
            return f"({t})(({unsigned})({e()}) {r.choice(['+', '-', '*'])} ({unsigned})({e()}))"
        if kind == "logic":
            return f"({t})(({e()}) {r.choice(['&', '|', '^'])} ({e()}))"
        if kind == "shift":
            amount = f"(({e('u32')}) & {w - 1})" if r.random() < 0.6 else str(r.randrange(w))
            if r.random() < 0.5:
                return f"({t})(({e()}) >> {amount})"
            return f"({t})(({unsigned})({e()}) << {amount})"
        if kind == "divide":
            big = "64" if w == 64 else "32"
            return f"({t}){t[0].replace('i', 's')}{r.choice(['div', 'rem'])}{big}({e()}, {e()})"
        if kind == "compare":
            return f"({t})({self.condition(s, depth)})"
        if kind == "select":
            return f"(({self.condition(s, depth)}) ? ({e()}) : ({e()}))"
        if kind == "cast":
            other = self.scalar()
            return self.convert(t, other, self.expr(other, s, depth - 1))
        if kind == "unary":
            return r.choice([f"({t})(~({e()}))", f"({t})(-({unsigned})({e()}))", f"({t})(!({e()}))"])
        if kind == "special":
            u, v = e("u32"), e("u32")
            if w == 64:
                a, b = e("u64"), e("u64")
                return f"({t})" + r.choice([f"mulhi64({a}, {b})", f"(u64)smulhi64((i64)({a}), (i64)({b}))", f"clz64({a})", f"ctz64({a})", f"__builtin_popcountl({a})",
                                            f"__builtin_bswap64({a})", f"__builtin_bitreverse64({a})", f"sub_borrow({a}, {b})", f"funnel({a}, ({u}) & 63)",
                                            f"(u64)(u32)({u}) * (u32)({v})", f"(i64)(i32)({u}) * (i32)({v})", f"__builtin_elementwise_min((i64)({a}), (i64)({b}))",
                                            f"__builtin_elementwise_max({a}, {b})", f"(i64)__builtin_elementwise_abs((i64)({a}) >> 1)"])
            small = e()
            return f"({t})" + r.choice([f"mulhi32({u}, {v})", f"clz32({u})", f"ctz32({u})", f"__builtin_popcount({u})", f"__builtin_bswap32({u})",
                                        f"__builtin_bitreverse32({u})", f"add_carry({u}, {v})", f"add_overflow((i32)({u}), (i32)({v}))",
                                        f"mul_overflow((i32)({u}), (i32)({v}))", f"__builtin_rotateleft32({u}, ({v}) & 31)",
                                        f"__builtin_elementwise_min((i32)({u}), (i32)({v}))", f"__builtin_elementwise_max({u}, {v})",
                                        f"__builtin_elementwise_add_sat({u}, {v})", f"__builtin_elementwise_sub_sat((i32)({u}), (i32)({v}))",
                                        f"__builtin_elementwise_add_sat(({t})({small}), ({t})({e()}))", f"__builtin_elementwise_sub_sat(({t})({small}), ({t})({e()}))",
                                        f"(({u}) & 0xffffff) * (({v}) & 0xffffff)", f"(({u}) >> {r.randrange(28)} & {(1 << r.randrange(1, 17)) - 1})",
                                        f"(({u}) << 8 | ({v}) >> 24)", f"(u32)(((u64)({u}) << 32 | ({v})) >> (({e('u8')}) & 31))",
                                        f"__builtin_elementwise_abs((i32)(({u}) >> 1) - 0x20000000)", f"((({u}) ^ ({v})) + (({u}) & ({v})))",
                                        f"(({u}) & ({v}) | ~({u}) & ({e('u32')}))"])
        if kind == "array" and s.arrays:
            array, element, length = r.choice(s.arrays)
            return self.convert(t, element, f"{array}[({e('u32')}) & {length - 1}]")
        if kind == "field" and s.structs:
            name, number = r.choice(s.structs)
            field_type, field = r.choice(self.structs[number])
            return self.convert(t, field_type, f"{name}.{field}")
        if kind == "call":
            made = self.call(s, depth)
            if made:
                return self.convert(t, *made)
        return self.leaf(t, s)

    def call(self, s, depth):
        r = self.r
        if self.tables and r.random() < 0.3:
            table, length = r.choice(self.tables)
            return "u32", f"{table}[({self.expr('u32', s, depth - 1)}) & {length - 1}]({self.expr('u32', s, depth - 2)}, {self.expr('u32', s, depth - 2)})"
        if self.functions and self.loops < 2:
            name, result, arguments = r.choice(self.functions)
            return result, f"{name}({', '.join(self.expr(a, s, depth - 2) for a in arguments)})"
        return None

    def float_expr(self, t, s, depth):
        r = self.r
        e = lambda: self.expr(t, s, depth - 1)
        suffix = {"f32": "f", "f64": "", "f16": "f16"}[t]
        kind = self.pick((6, "arith"), (1, "divide"), (1.5, "special"), (2, "select"), (2, "cast"), (1, "unary"))
        if kind == "arith":
            return f"({t})(({e()}) {r.choice(['+', '-', '*'])} ({e()}))"
        if kind == "divide" and t != "f16":
            return f"({t})(({e()}) / ({e()}))"
        if kind == "select":
            return f"(({self.condition(s, depth)}) ? ({e()}) : ({e()}))"
        if kind == "cast":
            other = self.scalar()
            return self.convert(t, other, self.expr(other, s, depth - 1))
        if kind == "unary":
            return f"({t})(-({e()}))" if r.random() < 0.5 else f"__builtin_elementwise_abs(({t})({e()}))"
        if kind == "special" and t != "f16":
            a, b = e(), e()
            wide = "64" if t == "f64" else ""
            pick = f"pick_min{wide}({a}, {b})" if t == "f64" else r.choice([f"pick_min({a}, {b})", f"pick_max({a}, {b})"])
            return r.choice([f"__builtin_sqrt{suffix}(__builtin_elementwise_abs(({t})({a})))", f"__builtin_fma{suffix}({a}, {b}, {e()})", f"__builtin_floor{suffix}({a})",
                             f"__builtin_ceil{suffix}({a})", f"__builtin_trunc{suffix}({a})", f"__builtin_rint{suffix}({a})", pick, f"sign_like{wide}({a}, {b})",
                             f"__builtin_ldexp{suffix}({a}, (i32)(({self.expr('i32', s, depth - 2)}) & 63) - 32)"])
        return self.leaf(t, s)

    # --- statements

    def block(self, s, depth, count, lines, indent):
        inner = Scope(s)
        for _ in range(count):
            self.statement(inner, depth, lines, indent)

    def targets(self, s):
        return [t for t in SCALARS if s.write[t] and (t not in FLOATS or self.floats)]

    def target(self, s):
        t = self.r.choice(self.targets(s))
        return t, self.r.choice(s.write[t])

    def statement(self, s, depth, lines, indent):
        r, pad = self.r, "  " * indent
        put = lambda text: lines.append(pad + text)
        kind = self.pick((4, "declare"), (6, "assign"), (3 if depth else 0, "if"), (2 if depth and self.loops < 2 else 0, "for"),
                         (1 if depth and self.loops < 2 else 0, "while"), (1.5 if depth else 0, "switch"), (2, "store"), (1, "array"), (1.2, "struct"), (1, "bytes"),
                         (1.5, "vector"), (1, "mix"))
        if kind in ("assign", "mix") and not self.targets(s):
            kind = "declare"
        if kind == "declare":
            t, name = self.scalar(), self.id()
            put(f"{t} {name} = {self.expr(t, s, r.randint(1, 3))};")
            s.add(t, name)
        elif kind == "assign":
            t, name = self.target(s)
            put(f"{name} = {self.expr(t, s, r.randint(1, 3))};")
        elif kind == "mix":
            t, name = self.target(s)
            if t in WIDTH:
                put(f"{name} {r.choice(['+=', '-=', '^=', '|=', '&=', '*='])} {self.expr(t, s, 2)};")
            else:
                put(f"{name} += {self.expr(t, s, 1)};")
        elif kind == "if":
            put(f"if ({self.condition(s, 2)}) {{")
            self.block(s, depth - 1, r.randint(1, 3), lines, indent + 1)
            if r.random() < 0.5:
                put("} else {")
                self.block(s, depth - 1, r.randint(1, 3), lines, indent + 1)
            put("}")
        elif kind == "for":
            name = self.id("n")
            limit = f"(({self.expr('u32', s, 1)}) & {r.choice([3, 7])}) + 1" if r.random() < 0.6 else str(r.randint(1, 6))
            put(f"for (u32 {name} = 0; {name} < {limit}; ++{name}) {{")
            inner = Scope(s)
            inner.add("u32", name, writable=False)
            self.loops += 1
            self.block(inner, depth - 1, r.randint(1, 3), lines, indent + 1)
            if r.random() < 0.3:
                put(f"  if ({self.condition(inner, 1)}) {r.choice(['break', 'continue'])};")
                self.block(inner, 0, 1, lines, indent + 1)
            self.loops -= 1
            put("}")
        elif kind == "while":
            name = self.id("w")
            put(f"u32 {name} = ({self.expr('u32', s, 1)}) & 7;")
            put(f"while ({name} != 0) {{")
            inner = Scope(s)
            inner.add("u32", name, writable=False)
            self.loops += 1
            self.block(inner, depth - 1, r.randint(1, 2), lines, indent + 1)
            self.loops -= 1
            put(f"  {r.choice([f'{name} -= 1', f'{name} >>= 1', f'{name} &= {name} - 1'])};")
            put("}")
        elif kind == "switch":
            cases = r.choice([3, 4, 8])
            put(f"switch (({self.expr('u32', s, 2)}) {r.choice([f'& {cases - 1 if cases != 3 else 3}', f'% {cases + 1}'])}) {{")
            for n in range(cases):
                put(f"case {n}: {{")
                self.block(s, depth - 1, r.randint(1, 2), lines, indent + 1)
                put("}" if r.random() < 0.25 else "} break;")
            put("default: {")
            self.block(s, depth - 1, 1, lines, indent + 1)
            put("}")
            put("}")
        elif kind == "store" and s.arrays:
            array, element, length = r.choice(s.arrays)
            put(f"{array}[({self.expr('u32', s, 2)}) & {length - 1}] = {self.expr(element, s, 2)};")
        elif kind == "array":
            t, name, length = self.scalar(), self.id("a"), r.choice([4, 8, 16])
            put(f"{t} {name}[{length}];")
            index = self.id("n")
            inner = Scope(s)
            inner.add("u32", index, writable=False)
            put(f"for (u32 {index} = 0; {index} < {length}; ++{index}) {name}[{index}] = {self.expr(t, inner, 1)};")
            s.arrays.append((name, t, length))
        elif kind == "struct" and self.structs:
            number = r.randrange(len(self.structs))
            same = [name for name, n in s.structs if n == number]
            if same and r.random() < 0.5:
                name = r.choice(same)
                change = f"{self.name}_change{number}"
                put(r.choice([f"{name} = {change}({r.choice(same)}, {self.expr('u32', s, 2)});", f"{self.name}_touch{number}(&{name}, {self.expr('u32', s, 2)});"]))
            else:
                name = self.id("s")
                put(f"struct {self.name}_s{number} {name} = {{{', '.join(self.expr(t, s, 1) for t, _ in self.structs[number])}}};")
                s.structs.append((name, number))
        elif kind == "bytes" and s.arrays:
            array, element, length = r.choice(s.arrays)
            if element in WIDTH:
                size = length * WIDTH[element] // 8
                put(f"((u8 *){array})[({self.expr('u32', s, 1)}) & {size - 1}] ^= {self.expr('u8', s, 1)};")
        elif kind == "vector":
            self.vector(s, put)

    def vector(self, s, put):
        r, a, b = self.r, self.id("q"), self.id("q")
        t, element, n = r.choice([("v4u", "u32", 4), ("v4i", "i32", 4), ("v4h", "u16", 4), ("v2s", "i16", 2), ("v8b", "u8", 8)] +
                                 ([("v2f", "f32", 2), ("v4f", "f32", 4)] if self.floats else []) + ([("v2e", "f16", 2)] if self.halves else []))
        for name in (a, b):
            put(f"{t} {name} = {{{', '.join(self.expr(element, s, 1) for _ in range(n))}}};")
        if element in WIDTH:
            w = WIDTH[element]
            step = r.choice([f"{a} * {b} + {a}", f"{a} - {b}", f"({a} ^ {b}) & ~{a}", f"{a} << ({b} & ({t})({w - 1}))", f"{a} >> ({b} & ({t})({w - 1}))",
                             f"__builtin_elementwise_max({a}, {b})", f"__builtin_elementwise_min({a}, {b})", f"__builtin_elementwise_add_sat({a}, {b})",
                             f"__builtin_elementwise_sub_sat({a}, {b})"])
        else:
            step = r.choice([f"{a} * {b} + {a}", f"{a} - {b}", f"{a} + {b} * {a}", f"-{a} * {b}", f"{a} * {b}"] +
                            ([f"__builtin_elementwise_fma({a}, {b}, {a})"] if element != "f16" else []))
        put(f"{a} = {step};")
        if r.random() < 0.4:
            order = ", ".join(str(r.randrange(2 * n)) for _ in range(n))
            put(f"{b} = __builtin_shufflevector({a}, {b}, {order});")
        if r.random() < 0.4:
            put(f"{a}[({self.expr('u32', s, 1)}) & {n - 1}] = {self.expr(element, s, 1)};")
        for name in (a, b):
            for i in (range(n) if r.random() < 0.5 else [r.randrange(n)]):
                s.add(element, f"{name}[{i}]", writable=False)

    # --- functions

    def function(self, number, kinds, result, name, recursive=False):
        r, lines, s = self.r, [], Scope()
        arguments = [f"{t} x{n}" for n, t in enumerate(kinds)]
        for n, t in enumerate(kinds):
            s.add(t, f"x{n}")
        if recursive:
            arguments.append("u32 left")
        inline = "INLINE" if r.random() < 0.3 and not recursive else "NOINLINE"
        lines.append(f"{inline} {result} {name}({', '.join(arguments)}) {{")
        self.loops = 1
        if recursive:
            lines.append(f"  if (left == 0) return {self.expr(result, s, 2)};")
        for _ in range(r.randint(1, 4)):
            self.statement(s, 1, lines, 1)
        if recursive:
            again = ", ".join(self.expr(t, s, 1) for t in kinds)
            lines.append(f"  const {result} deeper = {name}({again}, left - 1);")
            s.add(result, "deeper", writable=False)
            if r.random() < 0.4:
                lines.append(f"  if (({self.expr('u32', s, 1)}) & 1) return ({result})({self.expr(result, s, 1)} + {name}({again}, left >> 1));")
            lines.append(f"  return ({result})(deeper ^ {self.expr(result, s, 2)});")
        else:
            lines.append(f"  return {self.expr(result, s, 3)};")
        lines.append("}")
        self.loops = 0
        return lines

    def phase(self, letter):
        r, s, lines = self.r, Scope(), []
        inline = r.choice(["INLINE", "NOINLINE"])
        lines.append(f"{inline} void {self.name}_{letter}(PHASE_ARGS) {{")
        if inline == "NOINLINE":
            lines.append("  SAVE_RETURN;")  # phases may be large enough for long branches; helpers are not
        lines.append("  (void)shared, (void)in, (void)out, (void)group;")
        for t, name in (("u32", "it->acc"), ("u64", "it->acc64"), ("f32", "it->x"), ("f64", "it->y")):
            s.add(t, name)
        s.arrays.append(("it->array", "u32", 16))
        s.add("u32", "id", writable=False)
        s.add("u32", "group", writable=False)
        for n in range(8):
            t = self.scalar()
            name = self.id("k")
            if t in WIDTH:
                source = f"((GLOBAL const {t} *)in)[{r.randrange(128 // (WIDTH[t] // 8))}]"
            elif t == "f16":
                source = f"half_of(((GLOBAL const u16 *)in)[{r.randrange(64)}])"
            elif t == "f32":
                source = f"float_of(in[{r.randrange(32)}])" if r.random() < 0.3 else f"(f32)(i32)in[{r.randrange(32)}] * 0x1p-20f"
            else:
                source = f"double_of(((GLOBAL const u64 *)in)[{r.randrange(16)}])" if r.random() < 0.3 else f"(f64)((GLOBAL const i64 *)in)[{r.randrange(16)}] * 0x1p-40"
            lines.append(f"  {t} {name} = {source};")
            s.add(t, name)
        if letter == "b":
            lines += ["  const u32 near = local->first[(id + 1) & 127], far = local->first[id ^ 64], rank = local->seen[id];",
                      f"  const u64 other = local->wide[(id * 5 + {r.randrange(128)}) & 127];", "  const u8 byte = local->bytes[127 - id];"]
            for t, name in (("u32", "near"), ("u32", "far"), ("u32", "rank"), ("u64", "other"), ("u8", "byte")):
                s.add(t, name, writable=False)
        if letter == "c":
            lines += [f"  const u32 near = local->second[(id * 3 + {r.randrange(128)}) & 127], sum = local->words[id & 15];", "  const u64 total = local->longs[id & 7];",
                      "  const f32 sum_x = local->singles[id & 7];", "  const f64 sum_y = local->doubles[id & 7];"]
            for t, name in (("u32", "near"), ("u32", "sum"), ("u64", "total"), ("f32", "sum_x"), ("f64", "sum_y")):
                s.add(t, name, writable=False)
        for _ in range(r.randint(4, 8)):
            self.statement(s, 2, lines, 1)
        if letter in "ab":
            for _ in range(r.randint(1, 3)):
                lines.append("  " + r.choice([f"GLOBAL32({r.randrange(32)}, {self.expr('u32', s, 2)});", f"GLOBAL64({r.randrange(16)}, {self.expr('u64', s, 2)});",
                                              f"LOCAL32({r.randrange(16)}, {self.expr('u32', s, 2)});", f"LOCAL64({r.randrange(8)}, {self.expr('u64', s, 2)});",
                                              f"ADD(&local->singles[{r.randrange(8)}], (f32)(({self.expr('i32', s, 1)}) & 31), __MEMORY_SCOPE_WRKGRP);",
                                              f"ADD(&local->doubles[{r.randrange(8)}], (f64)(({self.expr('i32', s, 1)}) & 31), __MEMORY_SCOPE_WRKGRP);",
                                              f"ADD(&shared->singles[{r.randrange(8)}], (f32)(({self.expr('i32', s, 1)}) & 31) - 15.0f, __MEMORY_SCOPE_DEVICE);",
                                              f"ADD(&shared->doubles[{r.randrange(8)}], (f64)(({self.expr('i32', s, 1)}) & 31) - 15.0, __MEMORY_SCOPE_SYSTEM);",
                                              f"if ({self.condition(s, 1)}) LOCAL32(id & 15, {self.expr('u32', s, 1)});",
                                              f"GLOBAL32((id ^ {r.randrange(32)}) & 31, {self.expr('u32', s, 1)});"]))
        if letter == "a":
            lines += [f"  local->first[id] = {self.expr('u32', s, 3)};", f"  local->wide[id] = {self.expr('u64', s, 2)};", f"  local->bytes[id] = {self.expr('u8', s, 2)};",
                      "  const u32 turn = ADD(&local->ticket, 1, __MEMORY_SCOPE_WRKGRP);", "  local->seen[turn & 127] = turn + 1000;"]
        if letter == "b":
            lines.append(f"  local->second[id] = {self.expr('u32', s, 3)};")
        if letter == "c":
            for n in range(8):
                lines.append(f"  out[{n}] = {self.expr('u32', s, 3)};")
            for n in range(4, 8):
                lines.append(f"  ((GLOBAL u64 *)out)[{n}] = {self.expr('u64', s, 3)};")
            lines += ["  out[16] = it->acc;", "  out[17] = bits32(it->x);", "  ((GLOBAL u64 *)out)[9] = it->acc64;", "  ((GLOBAL u64 *)out)[10] = bits64(it->y);",
                      f"  ((GLOBAL u16 *)out)[44] = {self.expr('u16', s, 2)};", f"  ((GLOBAL u8 *)out)[90] = {self.expr('u8', s, 2)};",
                      "  u32 all = 0;", "  for (u32 n = 0; n < 16; ++n) all = all * 31 + it->array[n];", "  out[23] = all;"]
        lines.append("}")
        return lines

    def text(self):
        r, lines = self.r, []
        for number in range(r.randint(1, 2)):
            fields = [(self.scalar(), f"f{n}") for n in range(r.randint(2, 6))]
            self.structs.append(fields)
            name = f"{self.name}_s{number}"
            lines.append(f"struct {name} {{ {' '.join(f'{t} {f};' for t, f in fields)} }};")
            s = Scope()
            s.add("u32", "x")
            for t, f in fields:
                s.add(t, f"s.{f}")
            lines.append(f"NOINLINE struct {name} {self.name}_change{number}(struct {name} s, u32 x) {{")
            for _ in range(2):
                t, f = r.choice(fields)
                lines.append(f"  s.{f} = {self.expr(t, s, 2)};")
            lines += ["  return s;", "}"]
            p = Scope()
            p.add("u32", "x")
            for t, f in fields:
                p.add(t, f"s->{f}")
            t, f = r.choice(fields)
            lines.append(f"{r.choice(['INLINE', 'NOINLINE'])} void {self.name}_touch{number}(struct {name} *s, u32 x) {{")
            lines += [f"  s->{f} = {self.expr(t, p, 2)};", "}"]
        made = []
        for number in range(r.randint(1, 3)):
            kinds, result, name = [self.scalar() for _ in range(r.randint(1, 4))], self.scalar(), f"{self.name}_f{number}"
            lines += self.function(number, kinds, result, name)
            made.append((name, result, kinds))
        if r.random() < 0.5:
            members = []
            length = r.choice([2, 4])
            for number in range(length):
                name = f"{self.name}_t{number}"
                lines += self.function(number, ["u32", "u32"], "u32", name).copy()
                members.append(name)
            lines = [line.replace("INLINE u32 " + self.name + "_t", "NOINLINE u32 " + self.name + "_t").replace("NONOINLINE", "NOINLINE") for line in lines]
            table = f"{self.name}_table"
            lines.append(f"static u32 (*const {table}[{length}])(u32, u32) = {{{', '.join(members)}}};")
            self.tables.append((table, length))
        if r.random() < 0.4:
            name = f"{self.name}_r"
            kinds = [self.pick((1, "u32"), (1, "u64"), (1, "i32")) for _ in range(r.randint(1, 2))]
            result = r.choice(["u32", "u64", "i32"])
            lines += self.function(0, kinds, result, name, recursive=True)
            wrapper = f"{self.name}_down"
            lines.append(f"INLINE {result} {wrapper}({', '.join(f'{t} x{n}' for n, t in enumerate(kinds))}) {{ return {name}({', '.join(f'x{n}' for n in range(len(kinds)))}, (u32)x0 & 3); }}")
            made.append((wrapper, result, kinds))
        self.functions = made
        for letter in "abc":
            lines += self.phase(letter)
        lines.append(f"PROGRAM({self.name})")
        return "\n".join(lines) + "\n"


def main():
    first, count = int(sys.argv[1]), int(sys.argv[2])
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "program.h"), encoding="utf-8") as header:
        print(header.read())
    for seed in range(first, first + count):
        print(Program(seed).text())


if __name__ == "__main__":
    main()
