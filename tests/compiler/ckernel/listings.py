"""listings.py TOMBAC_CC COMPILER INCLUDE PAGE: compiles every listing of a page.

A ```c block with a kernel is a kernel file: it must pass `check`, and come out as Metal source that passes `check` too. One with
both a kernel and main is also built by the host's compiler and must end with 0. Programs without kernels, and all commands, are
run by ../../runtime/guide.py."""
import os
import re
import subprocess
import sys
import tempfile

compiler, host, include, page = sys.argv[1:]


def run(what, *command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=100)
    if result.returncode:
        sys.exit(f"{what}: exit status {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


blocks = [text for text in re.findall(r"^```c\n(.*?)^```", open(page).read(), re.S | re.M) if re.search(r"^kernel |    kernel ", text, re.M)]
if len(blocks) < 2:
    sys.exit("the page has no listings")
with tempfile.TemporaryDirectory() as folder:
    for number, text in enumerate(blocks, 1):
        source = os.path.join(folder, f"listing{number}.c")
        open(source, "w").write(text)
        if "int main(" in text:
            program = os.path.join(folder, "program")
            run(f"listing {number}", host, "-std=gnu2x", "-Wall", "-Wextra", "-Werror", "-I", include, source, "-o", program, "-lm")
            run(f"listing {number}", program)
            continue
        if '"name"' not in run(f"listing {number}", compiler, "list", source):
            sys.exit(f"listing {number} has no kernel")
        run(f"listing {number}", compiler, "check", source)
        for language, right in (("c", True), ("metal", False)):  # what a name does not say, -x does
            piped = subprocess.run([compiler, "check", "-x", language, "-"], input=text, capture_output=True, text=True,
                                   timeout=100)
            if (piped.returncode == 0) != right:
                sys.exit(f"listing {number} as {language}: exit status {piped.returncode}\n{piped.stderr}")
        metal = os.path.join(folder, f"listing{number}.metal")
        open(metal, "w").write(run(f"listing {number}", compiler, "emit", "--what", "msl", source))
        run(f"listing {number} as Metal source", compiler, "check", "-std=metal4.1", metal)
