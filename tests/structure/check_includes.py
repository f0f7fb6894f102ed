#!/usr/bin/env python3
"""Checks the include arrows of docs/architecture.md: they point down only.

usage: check_includes.py ROOT | --self-test
"""
import pathlib
import re
import sys

# Folder -> folders of src/ it may include (itself always). Public headers are checked apart.
ALLOWED = {
    "base": [],
    "loader": ["base"],
    "sim/isa": ["base"],
    "sim/num": ["base"],
    "sim/exec": ["base", "sim/isa", "sim/num", "sim/mem", "sim"],
    "sim/mem": ["base", "sim/isa", "sim"],
    "sim/cp": ["base", "sim/exec", "sim/mem", "sim/isa", "sim/check", "sim"],
    "sim/check": ["base", "sim/exec", "sim/mem", "sim/isa", "sim"],
    "sim": ["base", "sim/isa", "sim/exec"],
    "driver": ["base"],
    "driver/sim": ["base", "driver", "sim", "sim/cp", "sim/mem", "sim/isa", "sim/exec"],
    "driver/rocr": ["base", "driver", "loader"],
    "driver/kfd": ["base", "driver", "loader"],
    "device": ["base", "driver", "driver/sim", "driver/rocr", "driver/kfd", "memory", "sim/cp"],
    "memory": ["base", "driver", "device"],
    "signal": ["base", "driver", "device"],
    "queue": ["base", "driver", "device", "signal", "memory"],
    "kernel": ["base", "driver", "device", "memory", "queue", "signal", "loader"],
    "trace": ["base"],
    "vkfd": ["base", "sim", "sim/cp", "sim/mem", "sim/exec", "sim/isa"],
}
# Headers that only these folders may include.
VENDOR = [
    (re.compile(r"^hsa/|^hsa\.h|^hsa_"), ["driver/rocr"]),
    (re.compile(r"^hsakmt"), ["driver/kfd"]),
    (re.compile(r"^(libdrm/|amdgpu\.h|amdgpu_drm\.h|drm\.h|xf86drm)"), ["driver/kfd", "vkfd"]),
    (re.compile(r"^spdlog/"), ["base"]),
    (re.compile(r"^msgpack"), ["loader"]),
]
# Compile-time switches without content of their own: anyone in src/sim may include them.
NEUTRAL = {"sim/exec/tier.hpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def folder_of(path):
    """Deepest known folder that holds a path relative to src/."""
    parts = path.split("/")
    for n in (2, 1):
        if len(parts) > n and "/".join(parts[:n]) in ALLOWED:
            return "/".join(parts[:n])
    return None


def check_source(path, text):
    """Errors of one file of src/, path relative to src/."""
    errors = []
    here = folder_of(path)
    if here is None:
        return [f"src/{path}: its folder is not in the floor plan"]
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        kind, name = match.groups()
        if kind == '"' and not (name in NEUTRAL and here.startswith("sim")):
            there = folder_of(name)
            if there is None:
                errors.append(f"src/{path}:{number}: {name} is not written as a path from src/")
            elif there != here and there not in ALLOWED[here]:
                errors.append(f"src/{path}:{number}: {here} may not include {there} ({name})")
        for pattern, folders in VENDOR:
            if pattern.match(name) and here not in folders:
                errors.append(f"src/{path}:{number}: {name} belongs to {', '.join(folders)}")
    return errors


def check_public(path, text):
    errors = []
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        kind, name = match.groups()
        if kind == '"' or ("/" in name and not name.startswith("aql/")) or name.endswith(".h"):
            errors.append(f"include/{path}:{number}: public headers include the standard library and <aql/...> only, not {name}")
        if path.startswith("aql/abi/") and name.startswith("aql/") and not name.startswith("aql/abi/"):
            errors.append(f"include/{path}:{number}: wire structs stand alone; {name} is not one")
    if "#pragma once" not in text:
        errors.append(f"include/{path}: no #pragma once")
    return errors


def main():
    if sys.argv[1:] == ["--self-test"]:
        bad = [
            check_source("sim/cp/x.cpp", '#include "driver/driver.hpp"\n'),
            check_source("base/x.cpp", "#include <hsa/hsa.h>\n"),
            check_source("queue/x.cpp", "#include <spdlog/spdlog.h>\n"),
            check_public("aql/x.hpp", '#pragma once\n#include "base/log.hpp"\n'),
            check_public("aql/abi/x.hpp", "#pragma once\n#include <aql/error.hpp>\n"),
        ]
        missed = [i for i, errors in enumerate(bad) if not errors]
        print("every planted error is found" if not missed else f"planted errors {missed} were not found")
        return 1 if missed else 0
    root = pathlib.Path(sys.argv[1])
    errors = []
    count = 0
    for path in sorted((root / "src").rglob("*.?pp")):
        errors += check_source(path.relative_to(root / "src").as_posix(), path.read_text())
        count += 1
    for path in sorted((root / "include").rglob("*.hpp")):
        errors += check_public(path.relative_to(root / "include").as_posix(), path.read_text())
        count += 1
    print("\n".join(errors) if errors else f"{count} files follow the floor plan")
    return 1 if errors or count < 10 else 0


sys.exit(main())
