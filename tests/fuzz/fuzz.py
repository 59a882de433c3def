#!/usr/bin/env python3
"""Random kernels, vectorised and scalar, compared bit by bit.

    fuzz.py --clang CLANG --vectorise PROGRAM --compare PROGRAM --source FOLDER [--seeds A-B] [--count N] [--target LEVEL]

Exit status 1 if any word differs; the kernels' source stays in the work folder then.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
for name in ("clang", "vectorise", "compare", "source"):
    parser.add_argument("--" + name, required=True)
parser.add_argument("--seeds", default="1-3")
parser.add_argument("--count", type=int, default=4)
parser.add_argument("--target", default="x86-64-v4")
parser.add_argument("--threads", default="0,0,0")
parser.add_argument("--generator", default="generate.py")
options = parser.parse_args()
source = pathlib.Path(options.source)
first, _, last = options.seeds.partition("-")
FLAGS = ["-ffp-contract=off", "-w", "-fno-strict-aliasing", "-I%s" % source, "-I%s" % (source / "../../src")]


def run(*command):
    return subprocess.run([str(c) for c in command], check=True, timeout=600, stdout=subprocess.PIPE, text=True).stdout


def one(seed, folder):
    text = run(sys.executable, source / options.generator, seed, options.count)
    kernels, reference = folder / "k.c", folder / "reference.c"
    kernels.write_text(text)
    reference.write_text(text + "uint reference_index, reference_position[3]; const struct tb_dispatch *reference_dispatch;\n")
    run(options.clang, *FLAGS, "-O1", "-DREFERENCE", "-shared", "-fPIC", reference, "-o", folder / "reference.so")
    run(options.clang, *FLAGS, "-O1", "-Xclang", "-disable-llvm-passes", "-funroll-loops", "-emit-llvm", "-c", kernels,
        "-o", folder / "k.bc")
    run(options.vectorise, "--target", options.target, "--threads", options.threads, "-o", folder / "k", folder / "k.bc")
    run(options.clang, "-shared", *sorted(folder.glob("k.*.o")), "-o", folder / "k.so")
    done = subprocess.run([options.compare, folder / "reference.so", folder / "k.so", str(options.count)], timeout=600)
    return done.returncode


bad = 0
for seed in range(int(first), int(last or first) + 1):
    work = pathlib.Path(tempfile.mkdtemp(prefix="tombac-fuzz-"))
    try:
        status = one(seed, work)
    except subprocess.CalledProcessError as error:
        print("seed %d: %s failed" % (seed, error.cmd[0]))
        status = 1
    except subprocess.TimeoutExpired as error:
        print("seed %d: %s ran too long" % (seed, error.cmd[0]))
        status = 1
    if status:
        bad += 1
        print("seed %d: see %s" % (seed, work))
    else:
        for path in work.iterdir():
            path.unlink()
        work.rmdir()
print("%d of %d seeds differ" % (bad, int(last or first) - int(first) + 1))
sys.exit(bad != 0)
