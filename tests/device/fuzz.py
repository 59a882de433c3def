#!/usr/bin/env python3
"""Random Metal kernels on a GPU against what the check engine computed of them before, where there was a compiler.

    fuzz.py --library libtombac.so --make GENERATOR --folder FOLDER [--seeds A-B]   writes kernels and expected words; compiles for DEVICE
    fuzz.py --library libtombac.so --folder FOLDER                                  runs them on DEVICE, prints "N passed, N failed"

DEVICE is --device, cuda by default. The compile cache has kernels by the path of their source, so both must run in the same folder.
Kernels are those of tests/fuzz/generate_metal.py, which every right implementation gives the same words."""
import argparse
import ctypes as c
import pathlib
import subprocess
import sys

import numpy as np

# Threads, threads of a threadgroup, n, as in tests/fuzz/fuzz_metal.py.
FLAT = [((256, 1), (128, 1), 3), ((150, 1), (50, 1), 0), ((192, 1), (96, 1), 5), ((100, 1), (256, 1), 7)]
PLANE = [((32, 16), (16, 8), 2), ((24, 10), (8, 8), 7), ((20, 14), (5, 7), 1), ((64, 4), (32, 4), 3), ((40, 6), (64, 2), 6),
         ((16, 32), (16, 16), 4)]
KERNELS = 2  # of a source
CHECKED = (1, 2, 4)  # buffers whose words count


class Size3(c.Structure):
    _fields_ = [("x", c.c_uint32), ("y", c.c_uint32), ("z", c.c_uint32)]


class Device:
    """A device of libtombac; what fails is an exception with the library's message."""
    def __init__(self, library, name):
        self.lib = c.CDLL(library)
        self.lib.tombac_error_message.restype = c.c_char_p
        self.lib.tombac_error_message.argtypes = [c.c_void_p]
        self.device = c.c_void_p()
        self.call("device_open", name.encode(), c.byref(self.device))

    def call(self, name, *arguments):
        error = c.c_void_p()
        if getattr(self.lib, "tombac_" + name)(*arguments, c.byref(error)):
            raise RuntimeError(self.lib.tombac_error_message(error).decode())

    def kernel(self, path, name):
        library, kernel = c.c_void_p(), c.c_void_p()
        self.call("library_create_from_file", self.device, str(path).encode(), None, c.byref(library))
        self.call("kernel_create", library, name.encode(), None, c.c_size_t(0), c.byref(kernel))
        self.lib.tombac_library_release(library)
        return kernel

    def run(self, kernel, arguments, grid, group):
        """Arrays are buffers, changed in place; numbers are bytes."""
        launch, buffers = c.c_void_p(), []
        self.call("launch_create", kernel, c.byref(launch))
        for index, value in arguments.items():
            data = np.atleast_1d(value)
            if np.ndim(value) == 0:
                self.call("launch_set_bytes", launch, index, data.ctypes.data_as(c.c_void_p), c.c_size_t(data.nbytes))
                continue
            buffer = c.c_void_p()
            self.call("buffer_create", self.device, c.c_size_t(data.nbytes), data.ctypes.data_as(c.c_void_p), c.byref(buffer))
            self.call("launch_set_buffer", launch, index, buffer, c.c_size_t(0))
            buffers.append((data, buffer))
        self.call("launch_set_threads", launch, Size3(*grid, 1), Size3(*group, 1))
        self.call("launch_submit", launch)
        try:
            self.call("launch_wait", launch)
            for data, buffer in buffers:
                seen = c.c_void_p()
                self.call("buffer_begin_read", buffer, c.byref(seen))
                c.memmove(data.ctypes.data, seen, data.nbytes)
                self.call("buffer_end_read", buffer)
        finally:
            for _, buffer in buffers:
                self.lib.tombac_buffer_release(buffer)
            self.lib.tombac_launch_release(launch)


def shape_of(text, seed, k):
    head = text[text.index(f"kernel void k{k}("):].split("{")[0]
    shapes = PLANE if "uint2 at" in head else FLAT
    return shapes[(seed * KERNELS + k) % len(shapes)]


def arguments_for(grid, group, n):
    r = np.random.RandomState(7)  # whose numbers are the same in every version
    threads = grid[0] * grid[1]
    groups = -(-grid[0] // group[0]) * -(-grid[1] // group[1])
    return {0: r.randint(0, 4096, 2048).astype(np.uint32), 1: np.zeros(8 * threads, np.uint32), 2: np.zeros(8, np.uint32),
            3: np.uint32(n), 4: r.randint(0, 1 << 32, 4 * threads, np.uint64).astype(np.uint32),
            5: np.zeros(256 * groups, np.uint32)}


def cases(folder):
    for path in sorted(folder.glob("*.metal"), key=lambda p: int(p.stem)):
        for k in range(KERNELS):
            yield path, k, shape_of(path.read_text(), int(path.stem), k)


def execute(device, path, k, shape):
    grid, group, n = shape
    arguments = arguments_for(*shape)
    device.run(device.kernel(path, f"k{k}"), arguments, grid, group)
    return {f"{path.stem}.{k}.{i}": arguments[i] for i in CHECKED}


def make(options):
    options.folder.mkdir(parents=True, exist_ok=True)
    first, _, last = options.seeds.partition("-")
    for seed in range(int(first), int(last or first) + 1):
        text = subprocess.run([sys.executable, options.make, str(seed), str(KERNELS)], check=True, stdout=subprocess.PIPE).stdout
        (options.folder / f"{seed}.metal").write_bytes(text)
    check, expected = Device(options.library, "check"), {}
    for case in cases(options.folder):
        expected.update(execute(check, *case))
    np.savez_compressed(options.folder / "expected.npz", **expected)
    device = Device(options.library, options.device)
    for case in cases(options.folder):
        execute(device, *case)  # a launch of this size, so that all of its code is there; a stand-in computes nothing


def run(options):
    device, expected = Device(options.library, options.device), np.load(options.folder / "expected.npz")
    passed = failed = 0
    for path, k, shape in cases(options.folder):
        try:
            words = execute(device, path, k, shape)
            wrong = [name for name, found in words.items() if not np.array_equal(found, expected[name])]
            problem = f"{wrong[0]} differs first at {np.flatnonzero(words[wrong[0]] != expected[wrong[0]])[0]}" if wrong else ""
        except RuntimeError as error:
            problem = str(error).split("\n")[0]
        passed, failed = passed + (not problem), failed + bool(problem)
        if problem:
            print(f"FAIL  fuzz {path} k{k} {shape}: {problem}")
    print(f"{passed} passed, {failed} failed")
    return failed or not passed


parser = argparse.ArgumentParser()
parser.add_argument("--library", required=True)
parser.add_argument("--make")
parser.add_argument("--folder", type=pathlib.Path, required=True)
parser.add_argument("--seeds", default="1-40")
parser.add_argument("--device", default="cuda")
options = parser.parse_args()
sys.exit(make(options) if options.make else run(options))
