#!/usr/bin/env python3
"""The report against the annotations of a source: report.py TOMBAC SOURCE

Each annotated line must have exactly the decisions that it names, and the text must show every line that has decisions. The facts
that hints rest on, the loops around a line and the numbers of the summary are checked for some lines by name.
"""
import json
import pathlib
import re
import subprocess
import sys

tombac, source = sys.argv[1], pathlib.Path(sys.argv[2])
lines = source.read_text().split("\n")
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)


def report(kernel, *options):
    done = subprocess.run([tombac, "inspect", "--emit", "report", *options, source, kernel], capture_output=True, text=True, timeout=120)
    check(done.returncode == 0, "%s: %s" % (kernel, done.stderr))
    return done.stdout


def line_of(text):
    return next(n for n, line in enumerate(lines, 1) if text in line)


begin, everything = 0, {}
for kernel in ("accesses", "flow", "updates"):
    data = json.loads(report(kernel, "--json"))
    first = data["variants"][0]["name"]
    check(data["kernel"] == kernel and data["engine"] == "cpu", kernel + ": head")
    check(data["variants"][-1]["name"] == "any shape", kernel + ": variants")
    found = {}
    for note in data["decisions"]:
        if note["variant"] == first:
            found.setdefault(note["line"], set()).add(note["decision"])
            everything.setdefault((note["line"], note["decision"]), note)
            if note["line"]:
                check(note["source"] == lines[note["line"] - 1].rstrip(), "source of line %d" % note["line"])
    for variant in data["variants"]:
        counted = sum(n["count"] for n in data["decisions"] if n["variant"] == variant["name"])
        check(counted == sum(variant["counts"].values()), "%s, %s: numbers" % (kernel, variant["name"]))
    begin = line_of("kernel void %s(" % kernel)
    end = next(n for n in range(begin, len(lines)) if lines[n] == "}")
    text = report(kernel)
    for n in range(begin, end + 1):
        wanted = re.search(r"// report: (.*)$", lines[n - 1])
        if wanted:
            words = set(wanted.group(1).split("; "))
            check(found.get(n) == words, "line %d: %s, expected %s" % (n, sorted(found.get(n, [])), sorted(words)))
        for word in found.get(n, []):
            check(re.search(r"^ +%d \| " % n, text, re.M), "line %d is not in the text" % n)
            check(word in text, "%s is not in the text" % word)

hints = [("in[base]", "gather", "memory"), ("i * s.width", "gather", "run-time value"), ("in[i / n", "gather", "division"),
         ("in[i * 64]", "interleaved", "256 bytes apart"), ("seen[i]", "lane loop", "volatile"),
         ("&least[bin]", "atomic locked", "threadgroup memory"), ("ulong q", "64-bit division", "32 bits"), ("while (x > 7)", "divergent loop", "slowest")]
for text, decision, word in hints:
    note = everything.get((line_of(text), decision), {})
    check(word in note.get("hint", ""), "hint of '%s': %s" % (text, note.get("hint")))
loop = line_of("while (x > 7)")
check(everything[loop, "gather"]["loops"] == [loop], "the loop around a gather")
check(everything[loop, "gather"]["masked"], "a gather in a divergent loop is masked")
check(everything[line_of("out[base]"), "scatter"]["argument"] == "out", "name of the argument")
check(everything[line_of("wide[i]"), "interleaved"]["stride"] == 16, "stride")
check(everything[line_of("barrier(mem_flags::mem_threadgroup); // report"), "barrier"]["loaded"] > 0, "bytes at a barrier")
worst = report("accesses").split("Look at first")[1].split("\n")
check("lane loop" in worst[1], "worst first: %s" % worst[1])
done = subprocess.run([tombac, "inspect", "--emit", "report", "--device", "check", source, "flow"], capture_output=True, text=True)
check(done.returncode == 2 and "no report" in done.stderr, "the check engine has no report: %s" % done.stderr)
for failure in failures:
    print(failure)
sys.exit(bool(failures))
