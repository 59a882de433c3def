#!/usr/bin/env python3
"""Times the kernels of kernels.metal: bench.py [--tombac PROGRAM] [--device NAME] [--runs N]

Prints the minimum and median in milliseconds and, where it says something, the rate. TOMBAC_THREADS=1 gives the time of one thread.
"""
import argparse
import pathlib
import re
import subprocess

here = pathlib.Path(__file__).resolve().parent
parser = argparse.ArgumentParser()
parser.add_argument("--tombac", default=str(here / "../build/bin/tombac"))
parser.add_argument("--device", default="cpu")
parser.add_argument("--runs", type=int, default=15)
options = parser.parse_args()

M = 1 << 20
CASES = [  # kernel, arguments, launch, amount per run, unit
    ("saxpy", ["0=f32[%d]:iota" % M, "1=f32[%d]:iota" % M, "2=2.5"], ["--grid", str(M), "--group", "256"], 12 * M, "GB/s"),
    ("scale4", ["0=f32x4[%d]:rand(1)" % (M // 4), "1=f32x4[%d]" % (M // 4)], ["--grid", str(M // 4), "--group", "256"], 8 * M, "GB/s"),
    ("mandelbrot", ["0=u32[%d]" % (M // 2)], ["--grid", "1024,512", "--group", "32,8"], M // 2, "Gpoint/s"),
    ("matmul", ["0=f32[262144]:rand(1)", "1=f32[262144]:rand(2)", "2=f32[262144]", "3=512"],
     ["--grid", "512,512", "--group", "16,16"], 2 * 512 ** 3, "Gflop/s"),
    ("reduce", ["0=f32[%d]:rand(1)" % M, "1=f32[%d]" % (M // 256)], ["--grid", str(M), "--group", "256"], 4 * M, "GB/s"),
    ("histogram", ["0=u8[%d]:rand(1,0,255)" % M, "1=u32[256]"], ["--grid", str(M), "--group", "256"], M, "Gatomic/s"),
    ("transcendental", ["0=f32[%d]:rand(1,0,8)" % M, "1=f32[%d]" % M], ["--grid", str(M), "--group", "256"], M, "Gpoint/s"),
]

print("%-16s %10s %10s" % ("kernel", "min ms", "median ms"))
for kernel, arguments, launch, amount, unit in CASES:
    command = [options.tombac, "run", str(here / "kernels.metal"), kernel, *arguments, *launch, "--device", options.device, "--time",
               str(options.runs)]
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"minimum ([\d.]+) ms, median ([\d.]+) ms", done.stdout)
    if done.returncode or not found:
        print("%-16s %s" % (kernel, (done.stderr or done.stdout).strip().split("\n")[0]))
        continue
    low, middle = float(found.group(1)), float(found.group(2))
    print("%-16s %10.3f %10.3f   %.2f %s" % (kernel, low, middle, amount / low / 1e6, unit))
