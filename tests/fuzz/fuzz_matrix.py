#!/usr/bin/env python3
"""Random kernels of SIMD-group matrices on two devices, compared bit by bit.

    fuzz_matrix.py --tombac PROGRAM [--seeds A-B] [--devices check,cpu]

A kernel fills threadgroup memory, loads matrices of all types from anywhere, straight and transposed, multiplies them in
random order and nesting, changes elements, stores some and loads them again, in loops with and without barriers.
Exit status 1 if the outputs differ or a run fails; the source stays in the work folder then."""
import argparse
import pathlib
import random
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--tombac", required=True)
parser.add_argument("--seeds", default="1-2")
parser.add_argument("--devices", default="check,cpu")
options = parser.parse_args()
first, _, last = options.seeds.partition("-")
MEMORY = {"float": "tf", "half": "th", "bfloat": "tb"}
DEVICE = {"float": "df", "half": "dh"}


class Kernel:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.sums = ["float"] * self.r.choice([2, 4, 4, 6]) + self.r.choice([[], ["half"]])
        self.operands = [self.r.choice(["float", "float", "half", "bfloat"]) for _ in range(self.r.choice([3, 5, 8]))]

    def load(self, i, indent):
        r, kind = self.r, self.operands[i]
        memory = DEVICE[kind] if kind in DEVICE and r.random() < 0.3 else MEMORY[kind]
        stride = r.choice(["8", "16", "24", "32", "32", "n * 8"])
        offset = r.choice(["0", "8", "16", "24", "256 + 8", "3", "8 * n", "simd * 64"])
        across = ", ulong2(0), true" if r.random() < 0.3 else r.choice(["", "", ", ulong2(8, 1)"])
        return f"{indent}simdgroup_load(m{i}, {memory} + {offset}, {stride}{across});"

    def multiply(self, indent):
        r = self.r
        i = r.randrange(len(self.sums))
        j = i if r.random() < 0.85 else r.randrange(len(self.sums))
        a, b = (r.randrange(len(self.operands)) for _ in range(2))
        return f"{indent}simdgroup_multiply_accumulate(s{i}, m{a}, m{b}, s{j});"

    def row(self, indent):
        """One left operand for all sums, as products of tiles have it."""
        a = self.r.randrange(len(self.operands))
        count = self.r.randint(2, len(self.sums))
        return "\n".join(f"{indent}simdgroup_multiply_accumulate(s{i}, m{a}, m{self.r.randrange(len(self.operands))}, s{i});"
                         for i in range(count))

    def other(self, indent):
        r = self.r
        i = r.randrange(len(self.sums))
        return indent + r.choice([
            f"s{i}.thread_elements()[{r.randrange(2)}] += {self.sums[i]}(df[t % 7]);",
            f"s{i} = simdgroup_{self.sums[i]}8x8({self.sums[i]}(0.25));",
            f"m0.thread_elements()[1] = {self.operands[0]}(s{i}.thread_elements()[0] * {self.sums[i]}(0.125));",
            "simdgroup_barrier(mem_flags::mem_none);",
            "simdgroup_barrier(mem_flags::mem_threadgroup);",
            f"simdgroup_store(s{i}, own_{self.sums[i]}, 8); simdgroup_barrier(mem_flags::mem_threadgroup); "
            f"simdgroup_load(s{i}, own_{self.sums[i]}, 8, ulong2(0), {r.choice(['true', 'false'])});",
        ])

    def body(self, indent, depth):
        r, lines = self.r, []
        for i in range(len(self.operands)):
            if r.random() < 0.7:
                lines.append(self.load(i, indent))
        for _ in range(r.choice([2, 4, 8])):
            x = r.random()
            if x < 0.35:
                lines.append(self.row(indent))
            elif x < 0.75:
                lines.append(self.multiply(indent))
            elif x < 0.85:
                lines.append(self.load(r.randrange(len(self.operands)), indent))
            else:
                lines.append(self.other(indent))
        if depth and r.random() < 0.8:
            count = r.choice(["2", "n", "n - 1"])
            lines.append(f"{indent}for (uint i{depth} = 0; i{depth} < {count}; i{depth}++) {{")
            lines.append(self.body(indent + "    ", depth - 1))
            if r.random() < 0.4:
                lines.append(f"{indent}    threadgroup_barrier(mem_flags::mem_threadgroup);")
            lines.append(f"{indent}}}")
            lines.append(self.row(indent))
        return "\n".join(lines)

    def text(self):
        sums = "\n".join(f"    simdgroup_{t}8x8 s{i}({t}({self.r.choice(['0', '0', '0.5'])}));" for i, t in enumerate(self.sums))
        operands = "\n".join(f"    simdgroup_{t}8x8 m{i}({t}(0.5));" for i, t in enumerate(self.operands))
        stores = "\n".join(f"    simdgroup_store(s{i}, out_{t} + (simd * 8 + {i}) * 64, {self.r.choice(['8', 'n * 4'])});"
                           for i, t in enumerate(self.sums))
        return f"""#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;
kernel void k(device const float *df [[buffer(0)]], device const half *dh [[buffer(1)]], device float *out_float [[buffer(2)]],
              device half *out_half [[buffer(3)]], constant uint &n [[buffer(4)]], uint t [[thread_index_in_threadgroup]],
              uint simd [[simdgroup_index_in_threadgroup]], uint size [[threads_per_threadgroup]])
{{
    threadgroup float tf[1024], space_float[3 * 64];
    threadgroup half th[1024], space_half[3 * 64];
    threadgroup bfloat tb[1024];
    threadgroup float *own_float = space_float + 64 * simd;
    threadgroup half *own_half = space_half + 64 * simd;
    for (uint i = t; i < 1024; i += size) {{
        tf[i] = df[i];
        th[i] = dh[i];
        tb[i] = bfloat(df[1023 - i]);
    }}
    threadgroup_barrier(mem_flags::mem_threadgroup);
{sums}
{operands}
{self.body("    ", 2)}
{stores}
}}
"""


def execute(file, device, groups, folder):
    outs = [folder / f"{device}.{i}.npy" for i in (2, 3)]
    command = [options.tombac, "run", file, "k", "0=f32[1024]:rand(7,-0.5,0.5)", "1=f16[1024]:rand(8,-0.5,0.5)", "2=f32[2048]",
               "3=f16[2048]", "4=2", "--grid", str(32 * groups), "--group", str(32 * groups), "--device", device, "--no-cache"]
    for i, out in zip((2, 3), outs):
        command += ["--save", f"{i}={out}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    if done.returncode:
        return None, (done.stderr or done.stdout).strip().split("\n")[0]
    return b"".join(out.read_bytes() for out in outs), None


bad = 0
for seed in range(int(first), int(last or first) + 1):
    work = pathlib.Path(tempfile.mkdtemp(prefix="tombac-fuzz-"))
    file = work / "kernel.metal"
    file.write_text(Kernel(seed).text())
    results = [execute(file, device, 1 + seed % 3, work) for device in options.devices.split(",")]
    errors = [error for _, error in results if error]
    if errors or len({data for data, _ in results}) != 1:
        bad += 1
        print(f"seed {seed}: {errors or 'outputs differ'}; see {work}")
    else:
        for path in work.iterdir():
            path.unlink()
        work.rmdir()
print(f"{bad} of {int(last or first) + 1 - int(first)} seeds are wrong")
sys.exit(bad > 0)
