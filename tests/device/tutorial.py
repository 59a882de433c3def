#!/usr/bin/env python3
"""The tutorial's kernels on a GPU: runs the `tombac run` commands of docs/kernels-in-c.md on another device than the page does; what
they print must be what the page shows. Prints what differs and "N passed, N failed". With --fill it only makes the kernels,
on a machine with a compiler and a stand-in for the GPU, which computes nothing.

    tutorial.py [--fill] PAGE FOLDER TOMBAC DEVICE
"""
import os
import re
import subprocess
import sys

for place in (".", "../runtime"):
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), place))
from guide import blocks, matches, save, shown  # noqa: E402


def main(page, folder, tombac, device, fill):
    tombac = os.path.abspath(tombac)
    os.makedirs(folder, exist_ok=True)
    passed = failed = 0
    for before, language, lines in blocks(open(page, encoding="utf-8").read()):
        if save(before, language, lines, folder) or language != "sh":
            continue
        for command, expected in shown(lines):
            made = re.fullmatch(r"tombac (build --emit msl .* -o (\S+))", command)
            if made and (fill or not os.path.exists(os.path.join(folder, made.group(2)))): # needs the compiler
                subprocess.run(f"'{tombac}' {made.group(1)}", shell=True, cwd=folder, check=True)
            if not command.startswith("tombac run ") or "--device" in command:
                continue
            command = re.sub("^tombac run", f"'{tombac}' run --device {device}", command)
            done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, timeout=120)
            if expected[0].startswith("...") and "set TOMBAC_CC to its path" in done.stderr:
                continue # what the compiler refuses is never cached
            if matches("\n".join(expected).strip(), (done.stdout + done.stderr).strip()):
                passed += 1
            elif not fill:
                failed += 1
                print(f"FAIL  {command}\n" + "\n".join(expected) + f"\nexpected; printed:\n{done.stdout}{done.stderr}")
    if passed + failed < 10 and not fill:
        print(f"only {passed + failed} commands")
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return failed != 0


arguments = [a for a in sys.argv[1:] if a != "--fill"]
sys.exit(main(*arguments, fill="--fill" in sys.argv))
