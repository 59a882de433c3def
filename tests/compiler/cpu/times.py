#!/usr/bin/env python3
"""Work that compilations must not do, counted by `tombac-cc emit --what times --json`: instructions and bytes, not seconds.

Usage: times.py TOMBAC_CC FOLDER
"""
import json
import pathlib
import subprocess
import sys

compiler, folder = sys.argv[1], pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
KERNEL = """#include <metal_stdlib>
using namespace metal;
%s
float helper(float x, int n) { for (int i = 0; i < n; i++) x = sin(x) * 3.0f + exp(-x); return x; }
kernel void k(device float *a [[buffer(0)]], constant int &n [[buffer(1)]], uint i [[thread_position_in_grid]],
              uint t [[thread_index_in_threadgroup]], threadgroup float *m [[threadgroup(0)]])
{
    m[t] = helper(a[i], n);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    a[i] = m[t ^ 1] + helper(m[t], n + 1);
}
"""


def times(source, *options):
    command = [compiler, "emit", "--what", "times", "--json", "--kernel", "k", *options, str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return {p["phase"]: p for p in json.loads(done.stdout)["phases"]}


def expect(what, holds):
    if not holds:
        sys.exit(f"times: {what}")


small, large = folder / "small.metal", folder / "large.metal"
small.write_text(KERNEL % "")
others = "\n".join(f"float other{n}(float x) {{ return sin(x) * cos(x + {n}) - exp(x) * other{n - 1}(x); }}" if n else "float other0(float x) { return x; }"
                   for n in range(800))
large.write_text(KERNEL % others)

# Every engine tells all of its phases, and what they left.
for engine, last in (("cpu", "machine code"), ("check", "machine code"), ("cuda", "PTX")):
    phases = times(small, "--engine", engine)
    expect(f"{engine}: phases {list(phases)}", list(phases)[0] == "preprocess, list" and list(phases)[-1] == last)
    expect(f"{engine}: no code", phases[last]["size"] > 100)
    expect(f"{engine}: no processor time", all(p["own_processor_seconds"] >= 0 for p in phases.values()) and
           sum(p["own_processor_seconds"] for p in phases.values()) > 0.001)
    expect(f"{engine}: clang took nothing", phases["rewrite, clang"]["clang_processor_seconds"] > 0)
    expect(f"{engine}: clock", all(p["seconds"] >= 0.5 * p["own_processor_seconds"] for p in phases.values()))

# The general form, where it is left out, is neither optimised nor becomes machine code.
whole, part = times(small), times(small, "--defer", "0")
for phase in ("vector passes", "machine code"):
    expect(f"--defer leaves {part[phase]['size']} of {whole[phase]['size']} in '{phase}'", part[phase]["size"] < 0.7 * whole[phase]["size"])
expect("a small kernel is not complete", times(small, "--defer", "100000")["machine code"]["size"] == whole["machine code"]["size"])
known = times(small, "--threadgroup", "64,1,1")
expect("code that a known size never runs is kept", known["machine code"]["size"] < 0.7 * whole["machine code"]["size"])

# What the kernel cannot name does not get to clang: neither its bitcode nor what comes behind grows.
alone, among = times(small), times(large)
expect("bitcode of functions that nobody calls", among["rewrite, clang"]["size"] < alone["rewrite, clang"]["size"] + 400)
for phase in ("read bitcode", "inline", "vector passes"):
    expect(f"'{phase}' differs among others", among[phase]["size"] == alone[phase]["size"])
source = subprocess.run([compiler, "emit", "--what", "source", "--kernel", "k", str(large)], check=True, capture_output=True, text=True).stdout
expect("functions that nobody calls are compiled", "other1" not in source and "helper" in source)
