#!/usr/bin/env python3
"""Random Metal kernels on two devices, compared bit by bit.

    fuzz_metal.py --tombac PROGRAM --source FOLDER [--seeds A-B] [--count N] [--devices check,cpu]

Exit status 1 if the outputs differ or a run fails; the source stays in the work folder then.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--tombac", required=True)
parser.add_argument("--source", required=True)
parser.add_argument("--seeds", default="1-2")
parser.add_argument("--count", type=int, default=2)
parser.add_argument("--devices", default="check,cpu")
options = parser.parse_args()
first, _, last = options.seeds.partition("-")
# Threads, threads per threadgroup, n: full rows, rows of 16 and 8 threads, partial threadgroups at the edges, partial SIMD-groups.
FLAT = [((256, 1), (128, 1), 3), ((150, 1), (50, 1), 0), ((192, 1), (96, 1), 5), ((100, 1), (256, 1), 7)]
PLANE = [((32, 16), (16, 8), 2), ((24, 10), (8, 8), 7), ((20, 14), (5, 7), 1), ((64, 4), (32, 4), 3), ((40, 6), (64, 2), 6),
         ((16, 32), (16, 16), 4)]


def execute(file, kernel, device, shape, folder):
    grid, group, n = shape
    threads = grid[0] * grid[1]
    groups = -(-grid[0] // group[0]) * -(-grid[1] // group[1])
    out = folder / ("%s.npy" % device)
    counter, values = folder / ("%s.counter.npy" % device), folder / ("%s.values.npy" % device)
    done = subprocess.run(
        [options.tombac, "run", file, kernel, "0=u32[2048]:rand(7,0,4096)", "1=u32[%d]" % (8 * threads), "2=u32[8]", "3=%d" % n,
         "4=u32x4[%d]:rand(9)" % threads, "5=u32[%d]" % (256 * groups), "--grid", "%d,%d" % grid, "--group", "%d,%d" % group, "--device", device, "--no-cache", "--save", "1=%s" % out,
         "--save", "2=%s" % counter, "--save", "4=%s" % values], capture_output=True, text=True, timeout=240)
    if done.returncode:
        return None, (done.stderr or done.stdout).strip().split("\n")[0]
    return out.read_bytes() + counter.read_bytes() + values.read_bytes(), None


def one(seed, folder):
    text = subprocess.run([sys.executable, pathlib.Path(options.source) / "generate_metal.py", str(seed), str(options.count)],
                          check=True, stdout=subprocess.PIPE, text=True).stdout
    file = folder / "kernels.metal"
    file.write_text(text)
    wrong = 0
    for k in range(options.count):
        head = text[text.index("kernel void k%d(" % k):].split("{")[0]
        shapes = PLANE if "uint2 at" in head else FLAT
        for shape in (shapes[(seed * options.count + k) % len(shapes)],):
            results = [execute(file, "k%d" % k, device, shape, folder) for device in options.devices.split(",")]
            errors = [error for _, error in results if error]
            if errors or len({data for data, _ in results}) != 1:
                wrong += 1
                print("seed %d: k%d, %s: %s" % (seed, k, shape, errors or "outputs differ"))
    return wrong


bad = 0
for seed in range(int(first), int(last or first) + 1):
    work = pathlib.Path(tempfile.mkdtemp(prefix="tombac-fuzz-"))
    if one(seed, work):
        bad += 1
        print("seed %d: see %s" % (seed, work))
    else:
        for path in work.iterdir():
            path.unlink()
        work.rmdir()
print("%d of %d seeds differ" % (bad, int(last or first) - int(first) + 1))
sys.exit(bad != 0)
