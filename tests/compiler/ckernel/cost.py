"""cost.py TOMBAC_CC FOLDER [-v]: a kernel in C costs what the same kernel in Metal costs.

For every NAME.c of the folder that has a NAME.metal beside it, each kernel of both is compiled for the device cpu, and the instructions
are counted by opcode, labels and registers left out, once in the whole and once inside of loops. C may need 3 % more; what differs is
printed with -v. Processor time on a busy machine says less than that."""
import collections
import json
import os
import re
import subprocess
import sys

compiler, folder = sys.argv[1:3]
verbose = "-v" in sys.argv


def run(*arguments):
    result = subprocess.run([compiler, *arguments], capture_output=True, text=True, timeout=200)
    if result.returncode:
        sys.exit(f"{' '.join(arguments)}: exit status {result.returncode}\n{result.stderr}")
    return result.stdout


def instructions(source, kernel):
    """Opcodes in order, and the same of instructions between a label and a later jump back to it."""
    code, at, jumps = [], {}, []
    for line in run("emit", "--what", "asm", "--engine", "cpu", "--target", "x86-64-v3", "--kernel", kernel, source).splitlines():
        line = line.split("#")[0].strip()
        label = re.match(r"([.\w$]+):", line)
        if label:
            at[label[1]] = len(code)
        elif line and line[0] not in "./\"":
            words = line.split()
            if words[0].startswith("j") and words[-1] in at:
                jumps.append((at[words[-1]], len(code)))
            code.append(words[0])
    inside = [any(a <= i <= b for a, b in jumps) for i in range(len(code))]
    return code, [word for word, loop in zip(code, inside) if loop]


def costs_more(c, metal):
    return len(c) > 1.03 * len(metal) + 1


bad = 0
pairs = [name[:-2] for name in sorted(os.listdir(folder)) if name.endswith(".c") and os.path.exists(f"{folder}/{name[:-2]}.metal")]
if len(pairs) < 5:
    sys.exit("where are the pairs?")
for name in pairs:
    c, metal = f"{folder}/{name}.c", f"{folder}/{name}.metal"
    for kernel in [k["name"] for k in json.loads(run("list", c))["kernels"]]:
        (whole, loops), (metal_whole, metal_loops) = instructions(c, kernel), instructions(metal, kernel)
        same = collections.Counter(whole) == collections.Counter(metal_whole)
        print(f"{kernel}: {len(whole)} instructions, in loops {len(loops)}; in Metal {len(metal_whole)}, {len(metal_loops)}"
              + (", the same ones" if same else ""))
        if verbose and not same:
            print("   ", dict(collections.Counter(whole) - collections.Counter(metal_whole)), "in place of",
                  dict(collections.Counter(metal_whole) - collections.Counter(whole)))
        if costs_more(whole, metal_whole) or costs_more(loops, metal_loops):
            bad += 1
            print(f"    {kernel} costs more in C than in Metal")
sys.exit(bad != 0)
