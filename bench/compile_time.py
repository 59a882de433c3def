#!/usr/bin/env python3
"""How long Tombac takes to list, compile and start kernels, and how much memory the compiler needs.

Usage: compile_time.py [--build FOLDER] [--ggml CHECKOUT] [--runs N] [--json FILE] [--survey [--engine ENGINE]... [--only WORD]]

Prints one line per measurement: median wall-clock time over N runs, and the largest resident set of any process in
the tree. Times are those of whole commands, as a user waits for them; run it on a quiet machine. With --ggml the
whole Metal source of a ggml checkout is the input of the large cases; without it they are left out.

With --survey many kernels are compiled instead: all of bench/kernels and examples, and 40 of ggml with --ggml. `emit
--what times` tells where time goes; the table shows processor time, the least of N runs for every phase, median and worst
over the kernels. What comes behind clang is what the engines are responsible for.
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


# Of every family one or two, with constants as ggml's host may set them: those named here, 1 for other numbers, false for the rest.
SURVEYED = """unary_f32_f32 unary_f16_f16_4 bin_fuse_f32_f32_f32 bin_fuse_f32_f32_f32_4 add_id repeat_f32 swiglu_f32 geglu_erf_f16 sum_rows_f32_f32
    cumsum_blk_f32 soft_max_f32 soft_max_f16_4 ssm_scan_f32 rwkv_wkv7_f32 gated_delta_net_f32_1 argmax_f32 norm_mul_add_f32_4 rms_norm_f32_4
    group_norm_f32 mul_mv_q4_0_f32 mul_mv_q8_0_f32 mul_mv_q4_K_f32 mul_mv_q6_K_f32 mul_mv_iq2_xs_f32 mul_mv_f16_f32_4 mul_mv_ext_q4_0_f32_r1_3
    mul_mm_f16_f32 mul_mm_q4_0_f32 mul_mm_id_q4_K_f32 get_rows_q4_K rope_norm_f32 rope_neox_f16 im2col_f16 conv_2d_f16_f32 upscale_bicubic_f32
    argsort_f32_i32_asc cpy_f32_f16 cpy_f32_q4_0 flash_attn_ext_f16_dk128_dv128 flash_attn_ext_vec_f16_dk128_dv128""".split()
CONSTANTS = {"nsg": 4, "nxpsg": 8, "ns10": 128, "ns20": 128, "nwg": 1, "ne20": 128, "ne30": 128, "n": 32, "k": 32, "ncpsg": 64, "nqptg": 8,
             "DV": 128, "NWG": 32}


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


def constants_of(listing):
    given = []
    for constant in listing["constants"]:
        size = {"bool": 1, "short": 2}.get(constant["type"], 4)
        value = 0 if constant["type"] == "bool" else CONSTANTS.get(constant["name"].rsplit("_", 1)[-1], 1)
        given += ["--constant", f"{constant['name']}=0x{value.to_bytes(size, 'little').hex()}"]
    return given


def surveyed(compiler, ggml):
    """(kernel, arguments of the compiler) of every kernel that is surveyed."""
    root = pathlib.Path(__file__).resolve().parent.parent
    newer = {"generic.metal": ["-std=metal4.1"], "pipeline.metal": ["-std=metal4.0"]}
    sources = [[*newer.get(p.name, []), str(p)] for folder in ("bench/kernels", "examples") for p in sorted((root / folder).glob("*.metal"))]
    if ggml:
        metal = pathlib.Path(ggml) / "src/ggml-metal/ggml-metal.metal"
        sources.append([f"-I{metal.parent}", f"-I{metal.parent.parent}", "-DGGML_METAL_HAS_BF16", str(metal)])
    for source in sources:
        listing = json.loads(subprocess.run([compiler, "list", *source], check=True, capture_output=True).stdout)
        names = [k["name"] for k in listing["kernels"]]
        if ggml and source is sources[-1]:
            missing = [n for n in SURVEYED if f"kernel_{n}" not in names]
            if missing:
                sys.exit(f"bench: this ggml has no kernel {missing[0]}")
            names = [f"kernel_{n}" for n in SURVEYED]
        for name in names:
            yield name, [*constants_of(listing), *source]


BEFORE_ENGINES = ("preprocess, list", "rewrite, clang")


def survey_kernel(command, runs):
    """Milliseconds of processor time of each phase, and what it left."""
    best, sizes = {}, {}
    for _ in range(runs):
        done = subprocess.run(command, capture_output=True)
        if done.returncode:
            sys.exit(f"bench: failed: {' '.join(command)}\n{done.stderr.decode()}")
        for phase in json.loads(done.stdout)["phases"]:
            taken = 1000 * (phase["own_processor_seconds"] + phase["clang_processor_seconds"])
            best[phase["phase"]] = min(taken, best.get(phase["phase"], taken))
            sizes[phase["phase"]] = phase["size"]
    return best, sizes


def survey(compiler, options):
    """One table per engine: phases with their median and worst, then the kernels that take longest behind clang."""
    kernels, results = list(surveyed(compiler, options.ggml)), []
    for engine in options.engine or ["cpu", "check", "cuda"]:
        rows = {}
        for name, arguments in kernels:
            if options.only and options.only not in name:
                continue
            command = [compiler, "emit", "--what", "times", "--json", "--engine", engine, "--kernel", name, *arguments]
            phases, sizes = survey_kernel(command, options.runs)
            rows[name] = phases
            results.append({"engine": engine, "kernel": name, "milliseconds": phases, "sizes": sizes})
        behind = {n: sum(t for p, t in phases.items() if p not in BEFORE_ENGINES) for n, phases in rows.items()}
        print(f"{engine}, {len(rows)} kernels, {options.runs} runs{'':<24}  median     worst  ms of processor time")
        for phase in dict.fromkeys(p for phases in rows.values() for p in phases):
            times = [phases.get(phase, 0) for phases in rows.values()]
            print(f"  {phase:<40} {statistics.median(times):9.1f} {max(times):9.1f}  {max(rows, key=lambda n: rows[n].get(phase, 0))}")
        print(f"  {'all behind clang':<40} {statistics.median(behind.values()):9.1f} {max(behind.values()):9.1f}")
        slowest = sorted(behind, key=behind.get, reverse=True)[:12]
        print("  slowest: " + ", ".join(f"{n} {behind[n]:.0f}" for n in slowest), flush=True)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--ggml", help="a checkout of ggml")
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--json", help="write the results here as well")
    parser.add_argument("--survey", action="store_true", help="where time goes, over many kernels")
    parser.add_argument("--engine", action="append", choices=["cpu", "check", "cuda"], help="of the survey; default all")
    parser.add_argument("--only", help="survey only kernels with this in their names")
    options = parser.parse_args()

    programs = pathlib.Path(options.build).resolve() / "bin"
    compiler, tombac = str(programs / "tombac-cc"), str(programs / "tombac")
    results = []
    print(f"{platform.node()}: {os.cpu_count()} processors, load {os.getloadavg()[0]:.2f}, {time.strftime('%Y-%m-%d')}")
    if options.survey:
        results = survey(compiler, options)
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
        return
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
