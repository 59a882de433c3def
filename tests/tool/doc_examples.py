#!/usr/bin/env python3
"""Runs the examples of the documentation and compares what they print with what the documentation says.

    doc_examples.py TOMBAC FOLDER FILE...

An example is an indented line `$ tombac ...`, continued while lines end in a backslash; the indented lines behind it, up to
a blank line or the next `$`, are its output, in order, standard error included. An example without output is only run. The
device is whatever this machine has, so its name does not count; `tombac info` is left out, as it tells about the machine.
Exit status 1 if an example is wrong or a file has none.
"""
import os
import re
import subprocess
import sys


def examples(path):
    """[line number, command, output lines] of every example."""
    found, continued = [], False
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        text = line.rstrip("\n")
        if not text.startswith("    "):
            continued = False
            found.append(None)
            continue
        text = text[4:]
        if continued:
            found[-1][1] += " " + text.strip().rstrip("\\")
            continued = text.endswith("\\")
        elif text.startswith("$ "):
            continued = text.endswith("\\")
            found.append([number, text[2:].rstrip("\\"), []])
        elif found and found[-1]:
            found[-1][2].append(text)
    return [e for e in found if e and e[1].startswith("tombac ") and not e[1].startswith("tombac info")]


def same(line):
    return re.sub(r" on (cpu|check)$", " on DEVICE", line.rstrip())


def main():
    tombac, folder, files = sys.argv[1], sys.argv[2], sys.argv[3:]
    path = os.path.dirname(os.path.abspath(tombac)) + ":" + os.environ["PATH"]
    wrong = 0
    for file in files:
        listed = examples(file)
        if not listed:
            print(f"{file}: no examples")
            wrong += 1
        for number, command, expected in listed:
            command = re.sub(r"\s{3,}#.*$", "", command)
            done = subprocess.run(["sh", "-c", command], cwd=folder, env=dict(os.environ, PATH=path), capture_output=True,
                                  text=True, timeout=120)
            shown = (done.stdout + done.stderr).splitlines()
            if expected and [same(line) for line in shown] != [same(line) for line in expected]:
                wrong += 1
                print(f"{file}:{number}: $ {command}")
                print("\n".join("  documented: " + line for line in expected))
                print("\n".join("  printed:    " + line for line in shown))
            elif not expected and done.returncode not in (0, 1):
                wrong += 1
                print(f"{file}:{number}: $ {command}\n  exit status {done.returncode}: {done.stderr}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
