#!/usr/bin/env python3
"""How long Tombac takes to list, compile and start kernels, and how much memory the compiler needs.

Usage: compile_time.py [--build FOLDER] [--ggml CHECKOUT] [--runs N] [--json FILE]

Prints one line per measurement: median wall-clock time over N runs, and the largest resident set of any process in
the tree. Times are those of whole commands, as a user waits for them; run it on a quiet machine. With --ggml the
whole Metal source of a ggml checkout is the input of the large cases; without it they are left out.
"""
import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

FIFTY_LINES = """#include <metal_stdlib>
using namespace metal;

struct params { uint n; float eps; };

static inline float squared(float x) { return x * x; }

kernel void rms_norm(device const float *x [[buffer(0)]],
                     device const float *w [[buffer(1)]],
                     device float *y [[buffer(2)]],
                     constant params &p [[buffer(3)]],
                     threadgroup float *partial [[threadgroup(0)]],
                     uint row [[threadgroup_position_in_grid]],
                     uint t [[thread_position_in_threadgroup]],
                     uint threads [[threads_per_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]],
                     uint group [[simdgroup_index_in_threadgroup]])
{
    device const float *xr = x + row * p.n;
    device float *yr = y + row * p.n;

    float sum = 0.0;
    for (uint i = t; i < p.n; i += threads) {
        sum += squared(xr[i]);
    }
    sum = simd_sum(sum);

    if (threads > 32) {
        if (group == 0) {
            partial[lane] = 0.0;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (lane == 0) {
            partial[group] = sum;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sum = partial[lane];
        sum = simd_sum(sum);
    }

    const float mean = sum / p.n;
    const float scale = 1.0 / sqrt(mean + p.eps);

    for (uint i = t; i < p.n; i += threads) {
        yr[i] = xr[i] * scale * w[i];
    }
}
"""


# Function constants as ggml's host sets them, as bytes in memory order.
GGML_KERNELS = {
    "kernel_mul_mv_q4_K_f32": ["FC_mul_mv_nsg=0x0200", "FC_mul_mv_ne12=0x0100", "FC_mul_mv_r2=0x0100", "FC_mul_mv_r3=0x0100"],
    "kernel_mul_mm_f16_f32": ["FC_mul_mm_bc_inp=0x00", "FC_mul_mm_bc_out=0x00", "FC_mul_mm_ne12=0x0100", "FC_mul_mm_ne13=0x0100",
                              "FC_mul_mm_r2=0x0100", "FC_mul_mm_r3=0x0100"],
}


def once(command, environment):
    """Wall-clock seconds and peak resident bytes (of the largest process) of one run, which must succeed."""
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0), os.dup2(null, 1)
        os.execvpe(command[0], command, environment)
    start = time.perf_counter()
    _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - start
    if status != 0:
        sys.exit(f"bench: failed: {' '.join(command)}")
    # ru_maxrss of a waited child covers that process and, through its own waits, its children.
    return seconds, usage.ru_maxrss * 1024


def measure(name, command, runs, environment, results, before=None):
    samples = []
    for _ in range(runs):
        if before:
            before()
        samples.append(once(command, environment))
    seconds = statistics.median(s for s, _ in samples)
    memory = max(m for _, m in samples)
    results.append({"name": name, "seconds": seconds, "peak_bytes": memory, "runs": runs})
    print(f"{name:<58} {seconds * 1000:9.1f} ms   {memory / 2**20:7.0f} MB", flush=True)


def phases(what, compiler, kernel, source, out, runs, environment, results, constants=()):
    """The way of a kernel, cut where a verb of the compiler ends: a line's difference from the one before is a phase's time."""
    chosen = ["--kernel", kernel]
    for constant in constants:
        chosen += ["--constant", constant]
    measure(f"{what}: preprocess and list", [compiler, "list", *source], runs, environment, results)
    measure(f"{what}: ... and rewrite", [compiler, "emit", *chosen, "--what", "source", *source], runs, environment, results)
    measure(f"{what}: ... and clang, prepared IR", [compiler, "emit", *chosen, "--what", "ir", *source], runs, environment, results)
    for engine in ("check", "cpu"):
        measure(f"{what}: ... and compile, {engine}", [compiler, "compile", *chosen, "--engine", engine, "-o", out, *source], runs,
                environment, results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--ggml", help="a checkout of ggml")
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--json", help="write the results here as well")
    options = parser.parse_args()

    programs = pathlib.Path(options.build).resolve() / "bin"
    compiler, tombac = str(programs / "tombac-cc"), str(programs / "tombac")
    results = []
    print(f"{platform.node()}: {os.cpu_count()} processors, load {os.getloadavg()[0]:.2f}, {time.strftime('%Y-%m-%d')}")
    with tempfile.TemporaryDirectory() as folder:
        cache = pathlib.Path(folder) / "cache"
        environment = dict(os.environ, TOMBAC_CACHE=str(cache))
        source = pathlib.Path(folder) / "rms_norm.metal"
        source.write_text(FIFTY_LINES)
        out = str(pathlib.Path(folder) / "out.tombac")
        phases("a 50-line kernel", compiler, "rms_norm", [str(source)], out, options.runs, environment, results)
        run = [tombac, "run", str(source), "rms_norm", "x=f32[256]:rand(1)", "w=f32[256]:fill(1)", "y=f32[256]",
               "p={n: 256, eps: 0.00001}", "--groups", "1", "--group", "64", "--threadgroup", "0=128"]
        def clear():
            subprocess.run(["rm", "-rf", str(cache)], check=True)
        measure("tombac run of it, cold", run, options.runs, environment, results, clear)
        once(run, environment)
        measure("tombac run of it, cached", run, options.runs, environment, results)
        if options.ggml:
            metal = pathlib.Path(options.ggml) / "src/ggml-metal/ggml-metal.metal"
            flags = [f"-I{metal.parent}", f"-I{metal.parent.parent}", "-DGGML_METAL_HAS_BF16"]
            measure("list the kernels of ggml-metal.metal", [compiler, "list", *flags, str(metal)], options.runs,
                    environment, results)
            for kernel, constants in GGML_KERNELS.items():
                phases(kernel, compiler, kernel, [*flags, str(metal)], out, options.runs, environment, results, constants)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
