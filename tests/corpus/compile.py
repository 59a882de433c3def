"""Lists and compiles Metal files: compile.py [--each] [--every N] [--engine E] [--std STANDARD] TOMBAC_CC [-I FOLDER]... [-D NAME]... [-x LANGUAGE] FILE...

Each file goes through the front end as a whole; a file that fails there does not count. With --each, every kernel
(every N-th) is also compiled alone down to object code, function constants set to 1. Prints what fails with its first error
line, and at the end `COMPILED listed compiled each-right each-tried`."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

from kit import first_error

SIZES = {"bool": 1, "i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "i64": 8, "u64": 8, "f16": 2, "bf16": 2, "f32": 4}
FLOAT_ONE = {"f16": "003c", "bf16": "803f", "f32": "0000803f"}


def one(constant):
    """The bytes of 1 in the constant's type, as hexadecimal."""
    scalar = constant["scalar"]
    return (FLOAT_ONE.get(scalar) or "01" + "00" * (SIZES.get(scalar, 4) - 1)) * max(constant["vector_length"], 1)


def run(command, limit):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"error: took more than {limit} seconds")


def each(options, path, flags, listing, folder):
    right = tried = 0
    for kernel in listing["kernels"][::options.every]:
        command = [options.tombac_cc, "compile", "-w", *flags, "--kernel", kernel["name"], "--engine", options.engine, "-o",
                   os.path.join(folder, "kernel.tombac")]
        for constant in listing["constants"]:
            command += ["--constant", f"{constant['name']}=0x{one(constant)}"]
        done = run(command + [path], 120)
        tried += 1
        right += done.returncode == 0
        if done.returncode:
            print(f"  {os.path.basename(path)}: {kernel['name']}: {first_error(done.stderr)}")
    return right, tried


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--engine", default="check")
    parser.add_argument("--std")
    parser.add_argument("-I", action="append", default=[])
    parser.add_argument("-D", action="append", default=[])
    parser.add_argument("-x", default="")
    parser.add_argument("tombac_cc")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    flags = [f"-I{folder}" for folder in options.I] + [f"-D{name}" for name in options.D] + ([f"-std={options.std}"] if options.std else [])
    flags += ["-x", options.x] if options.x else []
    listed = compiled = right = tried = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in options.files:
            listing = run([options.tombac_cc, "list", *flags, path], 60)
            if listing.returncode:
                print(f"  {os.path.basename(path)}: not listed: {first_error(listing.stderr)}")
                continue
            listing = json.loads(listing.stdout)
            listed += len(listing["kernels"])
            done = run([options.tombac_cc, "check", "-w", *flags, path], 300)
            if done.returncode:
                print(f"  {os.path.basename(path)} ({len(listing['kernels'])} kernels): {first_error(done.stderr)}")
                continue
            compiled += len(listing["kernels"])
            if options.each:
                r, n = each(options, path, flags, listing, folder)
                right, tried = right + r, tried + n
    print(f"COMPILED {listed} {compiled} {right} {tried}")
    return 0 if compiled == listed and right == tried else 1


if __name__ == "__main__":
    sys.exit(main())
