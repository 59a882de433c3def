"""Writes the Metal sources of PyTorch that are no files of their own: pytorch_sources.py CHECKOUT FOLDER.

Sources in raw strings of .mm and .h files, which the host hands to a MetalShaderLibrary, some after fmt::format with names of
types: one file for each combination of TYPES, named STRING.TYPE-TYPE.metal. And, of an installed package, whose headers hold
templates that .metal files (not installed) include: one file that includes each of them."""
import os
import re
import sys

RAW = re.compile(r'R"(\w*)\((.*?)\)\1"', re.S)
LIBRARY = re.compile(r'MetalShaderLibrary\s+\w+\(\s*(?:R"(\w*)\(|(\w+))')
PARAMETERS = re.compile(r'\s*,\s*(\d+)\)')
# What the host substitutes: every operator's own choice of types.
TYPES = {
    "UNARY_KERNEL_TEMPLATE": [("float", "float"), ("half", "half"), ("bfloat", "bfloat"), ("float", "int"), ("float", "uchar")],
    "SCATTER_OPS_TEMPLATE": [("float", "float", "(x)"), ("int", "float", "(x)"), ("float", "bfloat", "bfloat(x)"),
                             ("half2", "float2", "float2(x.x, x.y)"), ("float2", "float", "x.x"), ("long", "bool", "(x)")],
    "GATHER_OPS_TEMPLATE": [("float", "float", "(x)"), ("int", "half", "(x)"), ("bfloat", "float", "float(x)"),
                            ("float2", "float2", "float2(x.x, -x.y)"), ("uchar", "long", "(x)")],
    "BitwiseOps": [("int", "int", "int"), ("long", "int", "long"), ("uchar", "uchar", "uchar"), ("bool", "bool", "bool"),
                   ("short", "char", "short")],
    "Gamma": [("float", "float"), ("half", "half"), ("bfloat", "float"), ("int", "float")],
}
TEMPLATES = {"SortTopK": "Sort", "DecodeAttention": "Decode", "PrefillAttention": "Prefill", "MppAttention": "Mpp_nax",
             "SamplingHelpers": "Sampling", "Gemv": "Gemv"}


def raw_strings(text):
    """Name or None, number of parameters, and source of every raw string that becomes a library."""
    for used in LIBRARY.finditer(text):
        if used.group(1) is not None:
            found = RAW.search(text, used.start())
            after = PARAMETERS.match(text, found.end())
            yield None, int(after.group(1)) if after else 0, found.group(2)
        else:
            after = PARAMETERS.match(text, used.end())
            yield used.group(2), int(after.group(1)) if after else 0, None


def format_text(text, values):
    """fmt::format with numbered fields."""
    return re.sub(r"\{\{|\}\}|\{(\d+)\}", lambda m: values[int(m.group(1))] if m.group(1) else m.group(0)[0], text)


def strings_in(checkout):
    """(name, number of parameters, source) of every library in a raw string below the checkout's aten."""
    texts, constants = {}, {}
    for folder, _, files in os.walk(os.path.join(checkout, "aten")):
        for file in sorted(files):
            if file.endswith((".mm", ".h")):
                with open(os.path.join(folder, file), encoding="utf-8", errors="replace") as f:
                    texts[os.path.splitext(file)[0]] = f.read()
    for text in texts.values():
        for name, tag, body in re.findall(r'(\w+)\s*=\s*R"(\w*)\((.*?)\)\2"', text, re.S):
            constants[name] = body
    for file, text in sorted(texts.items()):
        for name, count, source in raw_strings(text):
            if source is not None or name in constants:
                yield name or file, count, source if source is not None else constants[name]


def write(folder, name, text):
    with open(os.path.join(folder, name + ".metal"), "w", encoding="utf-8") as f:
        f.write(text)


def main():
    checkout, folder = sys.argv[1:3]
    for name, count, source in strings_in(checkout):
        if not count:
            write(folder, name, source)
        elif name not in TYPES:
            sys.exit(f"{name}: no types are known for its {count} parameters")
        for number, values in enumerate(TYPES[name] if count else ()):
            # Metal's own names are in scope without a line for them only in these strings of the host.
            prefix = "" if "#include" in source else "#include <metal_stdlib>\nusing namespace metal;\n"
            types = "-".join(v for v in values if re.fullmatch(r"\w+", v))
            write(folder, f"{name}.{types}", prefix + format_text(source, values))
    headers = os.path.join(checkout, "ATen", "native", "mps", "kernels")
    for header, name in TEMPLATES.items():
        if os.path.exists(os.path.join(headers, header + ".h")):
            lines = ["c10/metal/utils.h", "metal_simdgroup", "metal_simdgroup_matrix", "metal_stdlib"]
            parts = ["ATen/native/mps/kernels/LinearAlgebra.h"] * (name == "Gemv") + [f"ATen/native/mps/kernels/{header}.h"]
            write(folder, name, "".join(f"#include <{x}>\n" for x in lines) + "using namespace metal;\n" +
                  "".join(f"#include <{x}>\n" for x in parts))


if __name__ == "__main__":
    main()
