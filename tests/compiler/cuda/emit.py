#!/usr/bin/env python3
"""emit.py TOMBAC-CC FOLDER...: PTX for every kernel of every .metal file, for sm_80 and sm_90, accepted by ptxas.

Kernels that need function constants are compiled with all of them set to one (bytes 01 00 ...). Without ptxas (PTXAS, PATH or
/usr/local/cuda/bin) the texts are only made. A kernel that is refused by name counts as refused; anything else is a failure.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

SIZES = {"bool": 1, "i8": 1, "u8": 1, "i16": 2, "u16": 2, "f16": 2, "bf16": 2, "i32": 4, "u32": 4, "f32": 4, "i64": 8, "u64": 8}
EXIT_UNSUPPORTED = 4


def constant_options(listing):
    for c in listing["constants"]:
        one = (1).to_bytes(SIZES[c["scalar"]], "little") * c["vector_length"]
        yield from ("--constant", f"{c['index']}=0x{one.hex()}")


def assemble(ptxas, target, text):
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(text)
        file.flush()
        return subprocess.run([ptxas, f"-arch={target}", "-O0", "-o", "/dev/null", file.name], capture_output=True, text=True)


def try_kernel(compiler, ptxas, path, options, kernel, target):
    run = subprocess.run([compiler, "emit", "-std=metal4.1", "-w", "--what", "ptx", "--target", target, "--kernel", kernel, *options, path],
                         capture_output=True, text=True)
    if run.returncode == EXIT_UNSUPPORTED:
        return "refused", run.stderr
    if run.returncode or ".visible .entry tombac_cuda_kernel(" not in run.stdout:
        return "failed", run.stderr
    if f".target {target}" not in run.stdout:
        return "failed", "wrong target"
    done = assemble(ptxas, target, run.stdout) if ptxas else None
    return ("failed", done.stderr) if done and done.returncode else ("made", "")


def main():
    compiler, *folders = sys.argv[1:]
    ptxas = os.environ.get("PTXAS") or shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
    if not ptxas:
        print("ptxas is not installed: PTX is made, but not assembled")
    jobs, counts = [], {"made": 0, "refused": 0, "failed": 0}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for path in sorted(p for folder in folders for p in pathlib.Path(folder).glob("*.metal")):
            listing = json.loads(subprocess.run([compiler, "list", "-std=metal4.1", path], capture_output=True, text=True, check=True).stdout)
            options = list(constant_options(listing))
            for i, kernel in enumerate(listing["kernels"]):
                targets = ["sm_80", "sm_90"] if i % 4 == 0 else ["sm_90"]
                for target in targets:
                    job = pool.submit(try_kernel, compiler, ptxas, path, options, kernel["name"], target)
                    jobs.append((f"{path.name}:{kernel['name']} for {target}", job))
        for name, job in jobs:
            result, text = job.result()
            counts[result] += 1
            if result != "made":
                print(f"{result} {name}: {text.strip()}")
    print(", ".join(f"{n} {what}" for what, n in counts.items()))
    return counts["failed"] > 0 or counts["made"] == 0


if __name__ == "__main__":
    sys.exit(main())
