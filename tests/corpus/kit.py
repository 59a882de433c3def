"""Drives `tombac run` on kernels of public projects and compares with NumPy.

A case is a function that takes a Kit, runs kernels with arrays and argument structs, and returns pairs (found, expected,
tolerance). Layouts of structs come from the kernel's own reflection: a struct is a dict of its fields. Raw arguments
(`device char *`) get the bytes of an array."""
import json
import os
import subprocess
import tempfile

import numpy as np


class Failure(Exception):
    """A run failed or gave a wrong result; the text says how."""


def literal(value):
    """A value as the command line writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "{" + ", ".join(literal(v) for v in value) + "}"
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    return str(value)


class Kit:
    def __init__(self, tombac, device, source, options=()):
        self.tombac, self.device, self.source, self.options = tombac, device, source, list(options)
        self.races = []  # what the device "check" found in kernels that are right otherwise

    def run(self, kernel, arguments, groups=None, grid=None, group=(32, 1, 1), constants=None, threadgroup=None, outputs=()):
        """Arguments: buffer index -> array, dict, scalar. Returns the arrays of the indices in `outputs` after the run."""
        with tempfile.TemporaryDirectory() as folder:
            command = [self.tombac, "run", self.source, kernel, *self.options, "--device", self.device]
            for index, value in arguments.items():
                if isinstance(value, np.ndarray):
                    path = os.path.join(folder, f"{index}.npy")
                    np.save(path, np.ascontiguousarray(value))
                    command.append(f"{index}=@{path}")
                else:
                    command.append(f"{index}={literal(value)}")
            size = groups if groups is not None else grid
            command += ["--groups" if groups is not None else "--grid", ",".join(map(str, size))]
            command += ["--group", ",".join(map(str, group))]
            for name, value in (constants or {}).items():
                command += ["--set", f"{name}={literal(value)}"]
            for index, size in (threadgroup or {}).items():
                command += ["--threadgroup", f"{index}={size}"]
            saved = {index: os.path.join(folder, f"out{index}.npy") for index in outputs}
            for index, path in saved.items():
                command += ["--save", f"{index}={path}"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            if done.returncode and "data race" in done.stderr:
                self.races.append(first_error(done.stderr, 500))
                done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "TOMBAC_RACES": "0"})
            if done.returncode:
                raise Failure(first_error(done.stderr or done.stdout))
            results = [np.load(path).reshape(-1).view(np.uint8) for path in saved.values()]
            return [r.view(arguments[i].dtype).reshape(arguments[i].shape) for r, i in zip(results, saved)]


def first_error(text, most=300):
    lines = [line for line in text.splitlines() if line.strip()]
    for line in lines:
        if "error" in line:
            return line.strip()[:most]
    return lines[0].strip()[:300] if lines else "failed without a message"


def check(found, expected, tolerance):
    """Right is |found - expected| <= tolerance * (scale of the array): errors of sums do not follow single small elements."""
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    if found.shape != expected.shape:
        raise Failure(f"shape {found.shape} instead of {expected.shape}")
    if not np.array_equal(np.isfinite(found), np.isfinite(expected)):
        raise Failure("NaN or infinity in the wrong places")
    finite = np.isfinite(expected)
    if not finite.any():
        return
    scale = max(np.sqrt(np.mean(expected[finite] ** 2)), 1e-30)
    error = np.abs(np.where(finite, found - np.where(finite, expected, 0), 0)) / np.maximum(np.abs(np.where(finite, expected, 0)), scale)
    worst = int(np.argmax(error))
    if error.flat[worst] > tolerance:
        raise Failure(f"[{worst}]: found {found.flat[worst]:.8g}, expected {expected.flat[worst]:.8g} "
                      f"({int((error > tolerance).sum())} of {error.size} wrong)")


def main(project, cases, kits):
    """Runs cases [(name, kit name, function)]; prints one line per race and failure, and a summary that tests/corpus.sh reads."""
    right, failed = 0, []
    for name, kit, function in cases:
        try:
            results = list(function(kits[kit]))
            if not results:
                raise Failure("the case compared nothing")
            for found, expected, tolerance in results:
                check(found, expected, tolerance)
            right += 1
        except Failure as failure:
            failed.append((name, str(failure)))
        except subprocess.TimeoutExpired:
            failed.append((name, "took more than 300 seconds"))
    for kit in kits.values():
        for race in sorted(set(kit.races)):
            print(f"  {project}: note, the kernel has a race: {race}")
    for name, message in failed:
        print(f"  {project}: {name}: {message}")
    print(f"EXECUTED {right} {len(cases)}")
    return 1 if failed else 0
