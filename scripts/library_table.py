#!/usr/bin/env python3
"""The library's names, the first language version that has each, and the conformance tests that run it: docs/library.md.

    library_table.py --build BUILD [--check]     writes the page; --check compares it and fails if a name has no test

Names come from clang's completion after `metal::`, `metal::fast::`, `metal::precise::` and `::` with the precompiled headers,
and after the namespaces that <metal_tensor> and MetalPerformancePrimitives open with those of C++20;
versions from src/compiler/front/features.def; tests from the text of the conformance kernels after preprocessing. Names of what
Tombac refuses (textures, mesh and ray tracing types) are those that only the headers below declare."""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
REFUSED = ["metal_texture", "metal_imageblocks", "metal_mesh", "metal_command_buffer", "metal_raytracing",
           "metal_visible_function_table", "metal_interpolate"]
FLAGS = ["-cc1", "-triple", "nvptx64", "-faddress-space-map-mangling=no", "-x", "c++", "-fsycl-is-device", "-O1",
         "-funroll-loops", "-relaxed-aliasing", "-fno-threadsafe-statics", "-fclang-abi-compat=15", "-Wno-everything"]
SCOPES = [("", "::"), ("metal", "metal::"), ("metal::fast", "metal::fast::"), ("metal::precise", "metal::precise::")]
# What Metal 4 has: the namespace in which Metal shows the names, the one that holds them, and what is refused of it.
OPENED = [("metal", "metal::__tensors::"), ("mpp::tensor_ops", "__tombac::mpp::tensor_ops::")]
REFUSED_NAMES = {"int4b_format", "convolution2d", "convolution2d_descriptor", "convolution2d_activation_layout",
                 "convolution2d_weights_layout"}
# Names that are namespaces, or parts of Apple's library that sources specialise.
OTHERS = {"metal", "std", "fast", "precise", "simd", "raytracing", "_atomic", "_conjunction", "_disjunction", "_negation",
          "_numeric_limits_impl"}


def complete(clang, pch, folder, prefix, standard="c++17"):
    source = folder / "complete.cpp"
    source.write_text("auto x = " + prefix)
    column = len("auto x = " + prefix) + 1
    output = subprocess.run([clang, *FLAGS, "-std=" + standard, "-include-pch", str(pch), "-fsyntax-only",
                             f"-code-completion-at={source}:1:{column}", str(source)], capture_output=True, text=True).stdout
    names = {re.split(r"[<\s]", line[len("COMPLETION: "):])[0] for line in output.splitlines() if line.startswith("COMPLETION: ")}
    return {name for name in names if re.fullmatch(r"[A-Za-z]\w*", name)} - OTHERS


def words_of_headers(msl):
    found = {True: set(), False: set()}
    for path in msl.rglob("*"):
        if path.is_file():
            text = re.sub(r'/\*.*?\*/|//[^\n]*|"[^"\n]*"', "", path.read_text(), flags=re.S)
            found[path.name in REFUSED] |= set(re.findall(r"[A-Za-z_]\w*", text))
    return found[True] - found[False]


def versions():
    table = {}
    for version, name in re.findall(r'^X\((\d+), "([^"]+)"', (ROOT / "src/compiler/front/features.def").read_text(), re.M):
        if re.fullmatch(r"\w+", name):
            table[name] = f"{version[0]}.{version[1]}"
    return table


def test_texts(clang, msl):
    texts = {}
    for path in sorted((ROOT / "tests/conformance").glob("*.metal")):
        command = [clang, "-cc1", "-E", "-P", "-triple", "nvptx64", "-x", "c++", "-std=c++17", "-undef", "-nostdsysteminc",
                   "-nobuiltininc", "-Wno-everything", "-D__METAL_VERSION__=410", "-D__TOMBAC_MACROS_ONLY__=1", "-D__HAVE_BFLOAT__=1",
                   "-D__HAVE_TENSOR__=1",
                   "-I", str(msl), str(path)]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        text = re.sub(r'"(\\.|[^"\\])*"', "", text)
        texts[path.stem] = (set(re.findall(r"[A-Za-z_]\w*", text)), set(re.findall(r"(fast|precise)\s*::\s*(\w+)", text)))
    return texts


def tests_of(scope, name, texts):
    part = scope.rpartition("::")[2]
    if part in ("fast", "precise"):
        return [family for family, (_, qualified) in texts.items() if (part, name) in qualified]
    return [family for family, (words, _) in texts.items() if name in words]


def table(build, clang):
    msl, pch = build / "share/tombac/msl", build / "lib/tombac/metal.pch"
    names = {scope: complete(clang, pch, build, prefix) for scope, prefix in SCOPES}
    names["metal"] -= names[""]
    refused, since, texts = words_of_headers(msl), versions(), test_texts(clang, msl)
    opened = {}
    for scope, prefix in OPENED:
        opened[scope] = complete(clang, pch.with_name("metal20.pch"), build, prefix, "c++20") - set().union(*opened.values())
        since.update((name, "4.0") for name in opened[scope])
        names[scope] = names.get(scope, set()) | opened[scope]
    refused |= REFUSED_NAMES
    rows, missing = [], []
    for scope in names:
        for name in sorted(names[scope], key=lambda n: (n.lower(), n)):
            tests = tests_of(scope, name, texts)
            if name in refused:
                tests = ["refused by name"]
            elif not tests:
                missing.append(f"{scope}::{name}")
            rows.append(f"| `{name}` | {'`' + scope + '`' if scope else '–'} | {since.get(name, 'all')} | {', '.join(tests[:4])} |")
    head = f"""# The library

Every name of Metal's standard library for compute that Tombac's headers declare, the first language version that has it ("all":
every version that Tombac knows), and conformance tests that run it (families of tests/conformance, four at most). "Refused by
name" are types of other parts of Metal, which sources may mention and kernels cannot use. Macros are in msl/__tombac/macros.h and
tested by msl.macros. This page is made by scripts/library_table.py; the test `library_table` compares it with the headers and
fails if a name is run by no test.

{len(rows)} names.

| name | namespace | since | tests |
| --- | --- | --- | --- |
"""
    return head + "\n".join(rows) + "\n", missing


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--clang", default="clang-22")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    text, missing = table(options.build, options.clang)
    page = ROOT / "docs/library.md"
    if missing:
        print("run by no conformance test:", " ".join(missing))
    if text.count("\n") < 500:
        sys.exit("clang completes too few names")
    if not options.check:
        page.write_text(text)
    elif page.read_text() != text:
        sys.exit("docs/library.md is not what scripts/library_table.py makes of the headers")
    return 1 if missing else 0


sys.exit(main())
