#!/usr/bin/env python3
"""Kernels under gdb, and perf's map: debugger.py TOMBAC SOURCE-FOLDER

gdb runs in batch mode, with breakpoints set by file and line before any kernel is loaded. What it prints must hold the kernel's name
and line and the variables' values, which are computed here. Exit status 77 where gdb is missing or the system forbids tracing.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

tombac, folder = sys.argv[1], pathlib.Path(sys.argv[2])
failures, sessions = [], {}


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


if not shutil.which("gdb"):
    skip("gdb is not installed (scripts/install-deps.sh installs it)")
probe = subprocess.run(["gdb", "-nx", "-q", "-batch", "-ex", "run", "--args", "true"], capture_output=True, text=True, timeout=60)
if "exited normally" not in probe.stdout:
    skip("gdb cannot run a program here: " + (probe.stderr.strip().split("\n") or ["no reason given"])[-1])


def line_of(source, text):
    return next(n for n, line in enumerate((folder / source).read_text().split("\n"), 1) if text in line)


def run(source, kernel, device, script, *arguments):
    """What gdb prints for each command of the script, by command."""
    commands = ["set pagination off", "set breakpoint pending on", "set confirm off", "set print repeats 200", "set print elements 400"]
    for command in script:
        commands += ["echo \\n>> %s\\n" % command.replace("\\", "\\\\"), command]
    with tempfile.NamedTemporaryFile("w", suffix=".gdb") as file:
        file.write("\n".join(commands + ["kill", "quit", ""]))
        file.flush()
        environment = dict(os.environ, TOMBAC_THREADS="1", DEBUGINFOD_URLS="")
        done = subprocess.run(["gdb", "-nx", "-q", "-batch", "-x", file.name, "--args", tombac, "run", "-g", folder / source, kernel,
                               *arguments, "--device", device], capture_output=True, text=True, timeout=240, env=environment)
    parts = {}
    for part in done.stdout.split("\n>> ")[1:]:
        command, _, answer = part.partition("\n")
        parts[command] = answer
    return parts, done.stdout + done.stderr


def expect(parts, everything, command, pattern):
    if not re.search(pattern, parts.get(command, ""), re.S):
        failures.append("after '%s': no match for %s in\n%s" % (command, pattern, parts.get(command)))
        sessions[id(parts)] = everything


def lanes(values):
    return re.escape("{" + ", ".join(values) + "}")


def number(x):
    return "%g" % x


METAL = ("out=f32[64]", "in=f32[64]:iota", "n=4", "--grid", "64", "--group", "64")
after_a, in_loop, some, end = (line_of("debugger.metal", text) for text in ("after a", "in the loop", "some threads", "at the end"))
weights = [(i + 1) * 6.0 for i in range(64)]  # 0 + 1 + 2 + 3 times the weight

# The scalar engine: thread 5 of the grid, step by step.
script = ["break debugger.metal:%d if i == 5" % after_a, "run", "bt 1", "print a", "print i", "next", "print p.x", "break debugger.metal:%d if k == 3" % in_loop,
          "continue", "backtrace", "print w", "info locals", "delete 2", "break debugger.metal:%d if i == 7" % end, "continue 1", "print b", "print *in@4"]
parts, everything = run("debugger.metal", "stepped", "check", script, *METAL)
expect(parts, everything, "run", r"hit Breakpoint 1.*stepped.*debugger\.metal:%d" % after_a)
expect(parts, everything, "bt 1", r"#0 .*stepped.*debugger\.metal:%d" % after_a)
expect(parts, everything, "print a", r"= 6\b")
expect(parts, everything, "print i", r"= 5\b")
expect(parts, everything, "next", r"\b%d\b" % (after_a + 1))
expect(parts, everything, "print p.x", r"= 12\b")
expect(parts, everything, "backtrace", r"#0 +weigh.*debugger\.metal:%d.*#1 .*stepped" % in_loop)
expect(parts, everything, "info locals", r"k = 3.*w = ")
expect(parts, everything, "continue 1", r"debugger\.metal:%d" % end)
expect(parts, everything, "print b", r"= -14\b")  # -(2 * (6 + 1)): thread 6's value
expect(parts, everything, "print *in@4", r"= \{0, 1, 2, 3\}")

# Vector code: 32 threads at once.
script = ["break debugger.metal:%d" % after_a, "run", "bt 3", "print a", "delete", "break debugger.metal:%d if k[0] == 2" % in_loop, "continue", "backtrace 2",
          "print k", "delete 2", "break debugger.metal:%d" % end, "continue 1", "print i", "print b", "print p[3]", "print p[31].y"]
parts, everything = run("debugger.metal", "stepped", "cpu", script, *METAL)
first = [number(i + 1) for i in range(32)]
expect(parts, everything, "bt 3", r"#0 .*stepped.*debugger\.metal:%d.*#1 .*tombac\.step" % after_a)
expect(parts, everything, "print a", r"= " + lanes(first))
expect(parts, everything, "backtrace 2", r"#0 +weigh.*debugger\.metal:%d.*#1 .*stepped" % in_loop)
expect(parts, everything, "print k", r"= " + lanes(["2"] * 32))
expect(parts, everything, "continue 1", r"debugger\.metal:%d" % end)
expect(parts, everything, "print i", r"= " + lanes([str(i) for i in range(32)]))
expect(parts, everything, "print b", r"= " + lanes([number(2.0 * ((i ^ 1) + 1) * (-1 if i % 4 == 3 else 1)) for i in range(32)]))
expect(parts, everything, "print p[31].y", r"= %s\b" % number(weights[31]))

# A kernel in C.
function, call = line_of("debugger_kernel.c", "in the function"), line_of("debugger_kernel.c", "at the call")
for device, y in (("check", "6"), ("cpu", None)):
    condition = " if x == 3" if device == "check" else ""
    script = ["break debugger_kernel.c:%d%s" % (function, condition), "run", "bt 2", "print y"]
    parts, everything = run("debugger_kernel.c", "stepped_c", device, script, "out=f32[32]", "in=f32[32]:iota", "--grid", "32")
    expect(parts, everything, "bt 2", r"#0 +twice.*debugger_kernel\.c:%d.*#1 .*stepped_c" % function)
    expect(parts, everything, "print y", r"= 6\b" if y else r"= " + lanes([number(i + 3) for i in range(32)]))

# perf: what /tmp/perf-PID.map says of the code that ran.
for device, symbol in (("cpu", "tombac_cpu_threadgroup"), ("check", "tombac_check_thread")):
    command = [tombac, "run", folder / "debugger.metal", "stepped", *METAL, "--device", device]
    for wanted in (False, True):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=dict(os.environ, TOMBAC_PERF="1" if wanted else "0"))
        status = process.wait(timeout=120)
        path = pathlib.Path("/tmp/perf-%d.map" % process.pid)
        if status or path.exists() != wanted:
            failures.append("perf map on %s: status %d, there: %s" % (device, status, path.exists()))
        if not path.exists():
            continue
        functions = [re.fullmatch(r"([0-9a-f]+) ([0-9a-f]+) stepped: (\S+)", line) for line in path.read_text().split("\n") if line]
        if not all(functions) or symbol not in [f.group(3) for f in functions]:
            failures.append("perf map on %s: %s" % (device, path.read_text()))
        elif not all(int(f.group(2), 16) > 0 and int(f.group(1), 16) > 4096 for f in functions):
            failures.append("perf map on %s: a range is empty: %s" % (device, path.read_text()))
        path.unlink()
for text in failures + list(sessions.values()):
    print(text)
sys.exit(bool(failures))
