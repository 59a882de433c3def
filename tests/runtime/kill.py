#!/usr/bin/env python3
"""kill -9 at random moments leaves nothing bad behind: processes that compile are killed (the whole command, or only the compiler
under it), each time with the same compile cache; after each, the files of the cache are whole, and a run that is left alone
gives the right result. The same for `tombac build`, whose artifact is the old one, whole, or absent.

    kill.py TOMBAC FOLDER [ROUNDS]
"""
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import time

tombac, folder = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 8
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
environment = dict(os.environ, TOMBAC_CACHE=str(folder / "cache"), TMPDIR=str(folder))
no_compiler = dict(environment, TOMBAC_CC="/nonexistent/tombac-cc")
random.seed(4)
problems = []


def source(number):
    path = folder / f"k{number}.metal"
    path.write_text("#include <metal_stdlib>\nusing namespace metal;\n"
                    f"kernel void k(device uint *a, uint i [[thread_position_in_grid]]) {{ a[i] = a[i] * 3 + {number}; }}\n")
    return path


def run_command(number):
    return [tombac, "run", str(source(number)), "k", "a=u32[64]:iota", "--grid", "64", "--expect", f"a=u32[64]:iota({number},3)"]


def descendants(pid):
    found = []
    try:
        for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            found += [int(child)] + descendants(int(child))
    except OSError:
        pass
    return found


def kill_at(process, moment, compiler_only):
    """True if it came before the end."""
    time.sleep(moment)
    victims = descendants(process.pid)[:1] if compiler_only else [process.pid]
    hit = process.poll() is None and bool(victims)
    for victim in victims:
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            hit = False
    process.wait()
    return hit


def check_cache(what):
    """Every file with a final name has the length that its head says, and is of this cache: cache_file.c."""
    for path in (folder / "cache").glob("v1/*/*"):
        if path.suffix not in (".index", ".data"):
            continue  # a temporary file of who was killed
        content = path.read_bytes()
        size = struct.unpack_from("<Q", content, 32)[0] if len(content) >= 48 else -1
        if content[:8] != b"TBCACHE1" or size != len(content) - 48:
            problems.append(f"{what}: {path} is not whole")


def check_run(number, env, what):
    done = subprocess.run(run_command(number), env=env, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        problems.append(f"{what}: status {done.returncode}: {done.stdout}{done.stderr}")


def gone(pid_list, what):
    """Those that a killed parent left behind end by themselves."""
    end = time.monotonic() + 60
    while time.monotonic() < end and any(os.path.exists(f"/proc/{p}") for p in pid_list):
        time.sleep(0.01)
    if any(os.path.exists(f"/proc/{p}") for p in pid_list):
        problems.append(f"{what}: the compiler outlives its caller by a minute")


begin = time.monotonic()
check_run(0, environment, "undisturbed")
usual = time.monotonic() - begin
hits = 0
for number in range(1, 2 * rounds + 1):
    compiler_only = number % 2 == 0
    what = f"kernel {number}, {'the compiler' if compiler_only else 'the command'} killed"
    for _ in range(2):
        process = subprocess.Popen(run_command(number), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        moment = random.uniform(0, usual)
        time.sleep(moment / 2)
        children = descendants(process.pid)
        hits += kill_at(process, moment / 2, compiler_only)
        gone(children, what)
        check_cache(what)
    check_run(number, environment, what)
    check_run(number, no_compiler, what + ", from the cache")

artifact = folder / "k.tombac"
build = [tombac, "build", "k900.metal", "-o", "k.tombac", "--target", "check", "--target", "cpu-v3"]
source(900)
subprocess.run(build, cwd=folder, env=environment, check=True)
for number in range(rounds):
    before = artifact.read_bytes() if artifact.exists() else None
    (folder / "k900.metal").write_text((folder / "k900.metal").read_text() + f"// {number}\n")
    process = subprocess.Popen(build, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    hits += kill_at(process, random.uniform(0, 2 * usual), False)
    after = artifact.read_bytes() if artifact.exists() else None
    locked = subprocess.run(build + ["--locked"], cwd=folder, env=no_compiler, capture_output=True, text=True)
    if after == before and not (locked.returncode == 1 and "is stale" in locked.stderr):
        problems.append(f"build {number}: an old artifact is taken for a new one: {locked.stderr}")
    if after != before and locked.returncode != 0:
        problems.append(f"build {number}: the artifact is not whole: {locked.stderr}")
if hits < rounds:
    problems.append(f"only {hits} of {5 * rounds} kills came in time")
print("\n".join(problems) or f"kill: {hits} kills left nothing bad")
sys.exit(bool(problems))
