#!/usr/bin/env python3
"""Runs whole commands from a case file and compares exit status and output.

    run_cases.py --tombac PROGRAM [--device NAME] [--folder WORK] CASE_FILE...

A case file is a list of cases:

    # a comment
    case what it is about
    $ command line                             in a POSIX shell; further `$` lines continue it
    exit 2
    out exact line of standard output          every `out` line must come, in this order
    err text                                   a line of standard error must contain it
    out~ regular expression                    some line of standard output must match it
    err~ regular expression
    noout                                      standard output is empty
    lines N                                    standard output has N lines

In commands, `tombac` is the program under test, $DEVICE the device, $HERE the case file's folder, $PYTHON an interpreter.
With no `exit`, 0 is expected. Each case starts in one common, at first empty
folder, so that a case may use files that an earlier one made. Exit status 1 if any case fails or a file has none.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile


class Case:
    def __init__(self, name, line):
        self.name, self.line = name, line
        self.command, self.status, self.expected = [], 0, []


def parse(path):
    cases = []
    for number, raw in enumerate(open(path, encoding="utf-8"), 1):
        line = raw.rstrip("\n")
        if not line.strip() or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        if word == "case":
            cases.append(Case(rest, number))
        elif not cases:
            sys.exit(f"{path}:{number}: no case begun")
        elif word == "$":
            cases[-1].command.append(rest)
        elif word == "exit":
            cases[-1].status = int(rest)
        elif word in ("out", "err", "out~", "err~", "noout", "lines"):
            cases[-1].expected.append((word, rest, number))
        else:
            sys.exit(f"{path}:{number}: '{word}' is unknown")
    return cases


def check(case, result):
    """What is wrong with the result: a list of complaints."""
    wrong = []
    out, err = result.stdout.splitlines(), result.stderr.splitlines()
    if result.returncode != case.status:
        wrong.append(f"exit status {result.returncode}, not {case.status}")
    at = 0
    for kind, text, number in case.expected:
        if kind == "out":
            try:
                at = out.index(text, at) + 1
                continue
            except ValueError:
                pass
        elif kind == "err" and any(text in line for line in err):
            continue
        elif kind == "out~" and any(re.search(text, line) for line in out):
            continue
        elif kind == "err~" and any(re.search(text, line) for line in err):
            continue
        elif kind == "noout" and not out:
            continue
        elif kind == "lines" and len(out) == int(text):
            continue
        wrong.append(f"line {number} of the case file is not fulfilled: {kind} {text}")
    if not case.command:
        wrong.append("the case has no command")
    return wrong


def run(case, folder, environment, timeout):
    script = "\n".join(case.command)
    try:
        return subprocess.run(["sh", "-c", script], cwd=folder, env=environment, capture_output=True, text=True,
                              errors="replace", stdin=subprocess.DEVNULL, timeout=timeout)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(script, -1, "", f"(stopped after {timeout} s)")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tombac", required=True)
    parser.add_argument("--device", default="")
    parser.add_argument("--folder")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    folder = options.folder or tempfile.mkdtemp()
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    failed = count = 0
    for path in options.files:
        environment = dict(os.environ, DEVICE=options.device, PYTHON=sys.executable, HERE=os.path.dirname(os.path.abspath(path)),
                           PATH=os.path.dirname(os.path.abspath(options.tombac)) + ":" + os.environ["PATH"])
        environment.setdefault("TOMBAC_CACHE", os.path.join(folder, "cache"))
        for case in parse(path):
            count += 1
            result = run(case, folder, environment, options.timeout)
            wrong = check(case, result)
            if not wrong:
                continue
            failed += 1
            print(f"{os.path.basename(path)}:{case.line}: {case.name}")
            print("  $ " + "\n    ".join(case.command))
            for complaint in wrong:
                print("  " + complaint)
            for name, text in (("stdout", result.stdout), ("stderr", result.stderr)):
                for line in text.splitlines()[:20]:
                    print(f"  {name}: {line}")
    print(f"{count - failed} of {count} cases right")
    if not options.folder:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
