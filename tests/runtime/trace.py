#!/usr/bin/env python3
"""TOMBAC_TRACE: runs the command twice with one trace file and checks that it is whole JSON after each, with the events that
must be in it; a file that is no trace is refused and left alone.

    trace.py TOMBAC EXAMPLES FOLDER
"""
import json
import os
import subprocess
import sys

tombac, examples, folder = sys.argv[1:4]
os.makedirs(folder, exist_ok=True)
path = os.path.join(folder, "trace.json")
if os.path.exists(path):
    os.unlink(path)
environment = dict(os.environ, TOMBAC_TRACE=path)
command = [tombac, "run", os.path.join(examples, "vec_add.metal"), "vec_add", "a=f32[1000]:iota", "b=f32[1000]:fill(1)",
           "c=f32[1000]", "--grid", "1000"]


def fail(what):
    print(what)
    sys.exit(1)


for runs in (1, 2):
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    events = json.load(open(path))
    launches = [e for e in events if e["cat"] == "launch"]
    compiles = [e for e in events if e["cat"] == "compile"]
    if len(launches) < runs or len(compiles) < runs:
        fail(f"run {runs}: {len(launches)} launches and {len(compiles)} compilations are noted")
    for event in launches:
        if event["name"] != "vec_add" or event["args"]["kernel"] != "vec_add" or event["args"]["status"] != "ok":
            fail(f"a strange event: {event}")
        if not (event["ph"] == "X" and event["dur"] >= event["args"]["run_us"] > 0 and event["args"]["queue_us"] >= 0):
            fail(f"strange times: {event}")
if len({e["pid"] for e in events}) != 2:
    fail("two processes were expected")

other = os.path.join(folder, "other.txt")
open(other, "w").write("precious\n")
done = subprocess.run(command, env=dict(environment, TOMBAC_TRACE=other), capture_output=True, text=True)
if done.returncode == 0 or "exists and is no trace" not in done.stderr or open(other).read() != "precious\n":
    fail(f"a file that is no trace: {done.returncode} {done.stderr}")
