"""Runs case files: run_cases.py TOMBAC_CC FILE...

A case file is Metal source with comments that say what to run and what must come out:

    // RUN name [FAILS status]: arguments of tombac-cc; the source is appended
    // CHECK name: regular expression      found after the place where the one before was found
    // NOT name: regular expression        found nowhere in the output

Output and diagnostics are searched together. A RUN without a CHECK or NOT is an error: it could not fail."""
import re
import subprocess
import sys

LINE = re.compile(r"//\s*(RUN|CHECK|NOT)\s+([\w-]+)(?:\s+FAILS\s+(\d+))?:\s*(.*)")


def read_cases(path):
    cases = {}
    for number, line in enumerate(open(path), 1):
        match = LINE.search(line)
        if not match:
            continue
        kind, name, status, text = match.groups()
        if kind == "RUN":
            cases[name] = {"arguments": text.split(), "status": int(status or 0), "checks": []}
        elif name in cases:
            cases[name]["checks"].append((kind, text.strip(), number))
        else:
            sys.exit(f"{path}:{number}: no RUN named {name} before")
    return cases


def run_case(compiler, path, case):
    if not case["checks"]:
        return "nothing is checked"
    result = subprocess.run([compiler, *case["arguments"], path], capture_output=True, text=True, timeout=60)
    output = result.stdout + result.stderr
    if result.returncode != case["status"]:
        return f"exit status {result.returncode}, expected {case['status']}\n{output[-2000:]}"
    position = 0
    for kind, pattern, number in case["checks"]:
        if kind == "NOT":
            if re.search(pattern, output, re.M):
                return f"line {number}: found what must not be there: {pattern}"
            continue
        match = re.compile(pattern, re.M).search(output, position)
        if not match:
            return f"line {number}: not found: {pattern}\n{output[:4000]}"
        position = match.end()
    return None


def main():
    failed = total = 0
    for path in sys.argv[2:]:
        for name, case in read_cases(path).items():
            total += 1
            problem = run_case(sys.argv[1], path, case)
            if problem:
                failed += 1
                print(f"FAIL {path} {name}: {problem}")
    print(f"{total - failed} passed, {failed} failed")
    return 1 if failed or not total else 0


sys.exit(main())
