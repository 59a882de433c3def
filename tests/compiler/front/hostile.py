"""Hostile sources: hostile.py TOMBAC_CC. Each must end in an error of the expected kind, in bounded time, without a crash of
tombac-cc itself (a negative return code, or a sanitizer's) and without a kilobyte of message for every kilobyte of source."""
import os
import subprocess
import sys
import tempfile
import time

MEGABYTE = 1 << 20
KERNEL = "kernel void k(device int *o) { o[0] = %s; }\n"


def doubled(n):
    lines = ["#define M0 1 +"]
    lines += [f"#define M{i} M{i - 1} M{i - 1}" for i in range(1, n + 1)]
    return "\n".join(lines) + "\n" + KERNEL % f"M{n} 0"


CASES = {
    "endless templates": ("template <int N> struct A { static constexpr int v = A<N + 1>::v + A<N * 2 + 1>::v; };\n"
                          + KERNEL % "A<1>::v", 3, 60),
    "growing types": ("template <typename T> struct P {};\ntemplate <typename T> int f(T) { return f(P<T>()); }\n"
                      + KERNEL % "f(1)", 3, 60),
    "endless constant": ("constexpr int f() { int i = 0; while (true) i ^= 1; return i; }\nconstant int c = f();\n"
                         "static_assert(f() == 1, \"\");\n" + KERNEL % "c", 3, 60),
    "nested brackets": (KERNEL % ("(" * 100000 + "1" + ")" * 100000), 3, 20),
    "nested braces": ("kernel void k(device int *o) " + "{" * 50000 + "}" * 50000, 3, 20),
    "nested ternaries": (KERNEL % ("o[1] ? o[2] : " * 20000 + "0"), None, 120),
    "doubling macros": (doubled(40), None, 70),
    "recursive inclusion": ('#include "/dev/stdin"\n' * 3 + KERNEL % "1", None, 70),
    "one long line": ("// " + "x" * (40 * MEGABYTE) + "\n" + KERNEL % "undeclared", 3, 70),
    "100 MB": (" " * (100 * MEGABYTE) + KERNEL % "1", 2, 60),
    "10 MB of tokens": ("int f(int x) { return x" + " + x" * (2 * MEGABYTE) + "; }\n" + KERNEL % "1", 3, 60),
    "10000 operators": ("int f(int x) { return x" + " + x" * 9990 + "; }\n" + KERNEL % "f(1)", 0, 60),
    "chained calls": (KERNEL % ("f" + "(1)" * 20000), 3, 20),
    "unary operators": (KERNEL % ("- " * 20000 + "1"), 3, 20),
    "a long table": ("constant int t[] = {" + "-1, " * 200000 + "};\n" + KERNEL % "t[1]", 0, 60),
    "no UTF-8": ("// \udcff\udcfe\nkernel void k(device int *o) { o[0] = '\udc80' + sizeof(\"\udcc3\"); }\n", None, 20),
    "no UTF-8 in a name": ("kernel void \udcff\udcfe(device int *o) { o[0] = 1; }\n", 3, 20),
    "included device": ('#include "/dev/zero"\n' + KERNEL % "1", 3, 20),
    "included folder": ('#include "/dev"\n' + KERNEL % "1", 3, 20),
    "open angles": (KERNEL % ("a<" * 5000 + "1"), 3, 10),
    "open angles in a statement": ("kernel void k(device int *o) { " + "n::a<" * 40 + "1; }\n", 3, 10),
    "closed angles": ("template <typename T> struct a { typedef T t; };\nkernel void k(device int *o) { " + "a<" * 40 + "int"
                      + ">" * 40 + " x; o[0] = sizeof(x); }\n", 0, 20),
    "nested ifs": ("kernel void k(device int *o) { " + "if (o[1]) " * 10000 + "o[0] = 1; }\n", 3, 10),
    "else-ifs": ("kernel void k(device int *o) { " + "if (o[1]) { o[2] = 1; } else " * 10000 + "o[0] = 1; }\n", 3, 10),
    "ifs in a row": ("kernel void k(device int *o) { " + "if (o[1]) for (;o[1];) o[2] = 1; else o[3] = 4; " * 3000 + "}\n", 0, 60),
    "macro calls": ("#define A(x) x x x x x x x x\n#define B(x) A(A(A(A(A(x)))))\n#define C(x) B(B(x))\n" + KERNEL % "C(+1)",
                    5, 70),
    "binary": ("\x01\x7f\x00" * 1000, 3, 20),
    "unterminated": ('kernel void k(device int *o) { "abc', 3, 20),
    "quotes": ("'" * 99999, 3, 20),
}


def named_files():
    """Sources that are no files to read, and one that includes itself: name, how to make it, its content."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkfifo(os.path.join(folder, "pipe.metal"))
        os.mkdir(os.path.join(folder, "folder.metal"))
        with open(os.path.join(folder, "self.metal"), "w") as out:
            out.write('#include "self.metal"\n')
        for name in ("pipe.metal", "folder.metal", "self.metal", "missing.metal"):
            yield name, os.path.join(folder, name)
        yield "/dev/zero", "/dev/zero"


def main():
    failed = 0
    for name, path in named_files():
        try:
            result = subprocess.run([sys.argv[1], "check", path], capture_output=True, timeout=20)
            wrong = not 0 < result.returncode <= 5 or not result.stderr
            what = f"status {result.returncode}, {result.stderr[:160].decode(errors='replace')!r}"
        except subprocess.TimeoutExpired:
            wrong, what = True, "more than 20 s"
        print(f"{'FAIL' if wrong else 'ok  '} the file {name}: {what}", flush=True)
        failed += wrong
    for name, (source, status, limit) in CASES.items():
        start = time.monotonic()
        try:
            result = subprocess.run([sys.argv[1], "check", "-"], input=source.encode(errors="surrogateescape"), capture_output=True, timeout=limit)
        except subprocess.TimeoutExpired:
            print(f"FAIL {name}: more than {limit} s")
            failed += 1
            continue
        seconds = time.monotonic() - start
        wrong = result.returncode < 0 or result.returncode > 5
        wrong |= status is not None and result.returncode != status
        wrong |= len(result.stderr) > 200000 or (result.returncode != 0 and not result.stderr)
        print(f"{'FAIL' if wrong else 'ok  '} {name}: status {result.returncode}, {seconds:.1f} s, "
              f"{result.stderr[:160].decode(errors='replace')!r}", flush=True)
        failed += wrong
    return 1 if failed else 0


sys.exit(main())
