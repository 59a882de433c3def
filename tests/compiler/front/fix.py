"""-Wmetal-addr-spaces --fix: fix.py TOMBAC_CC FOLDER. Members without an address space get `thread`, in the header too, once;
what a macro made stays; the result has nothing left to warn about but that."""
import pathlib
import subprocess
import sys

HEADER = """#pragma once
struct Base {
    float v;
    float get(){ return v; }
};
"""
BEFORE = """#include "shared.h"
#include "shared.h"
#define MAKE(name) float name() { return 1; }
struct Sphere {
    float center;
    Sphere() : center(0) {}
    float normal(float point) const {
        return point - center;
    }
    void recenter(float origin) thread { center = origin; }
    float at(float x) const device { return x; }
    static float two() { return 2; }
    MAKE(made)
    template <typename T> T operator()(T x) const volatile { return x; }
    Sphere &operator=(const Sphere &) = default;
};
"""
AFTER = (BEFORE.replace("Sphere() :", "Sphere() thread :").replace("point) const {", "point) const thread {")
         .replace("const volatile {", "const volatile thread {").replace("&) = default", "&) thread = default"))


def main():
    compiler, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    source, header = folder / "source.metal", folder / "shared.h"
    before, after = (text.replace("Sphere &op", "thread Sphere &op").replace("(const Sphere &)", "(const thread Sphere &)")
                     for text in (BEFORE, AFTER))
    after = after.replace("&) = default", "&) thread = default")
    source.write_text(before)
    header.write_text(HEADER)

    def run(*arguments):
        result = subprocess.run([compiler, "check", "-std=metal4.0", *arguments, str(source)], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        return result.stderr.count("-Wmetal-addr-spaces]")

    assert run() == 0
    assert run("-Wmetal-addr-spaces") == 6
    assert source.read_text() == before
    assert run("--fix") == 6
    assert source.read_text() == after, source.read_text()
    assert header.read_text() == HEADER.replace("get(){", "get() thread{"), header.read_text()
    assert run("--fix") == 1
    assert source.read_text() == after
    return 0


sys.exit(main())
