"""Seeds for the fuzzer of the readers: artifact_seeds.py TOMBAC TOMBAC_CC SOURCE FOLDER. Each is a byte that chooses the reader, then
what the compiler really writes."""
import json
import pathlib
import subprocess
import sys

tombac, compiler, source, folder = sys.argv[1:]
folder = pathlib.Path(folder)
folder.mkdir(parents=True, exist_ok=True)
run = lambda *command: subprocess.run(command, check=True, capture_output=True).stdout
artifact = folder.parent / "seed.tombac"
listing = run(compiler, "list", source)
kernel = json.loads(listing)["kernels"][0]["name"]
manifest = run(compiler, "emit", "--what", "reflection", "--engine", "cpu", "--kernel", kernel, source)
run(compiler, "compile", "--kernel", kernel, "--engine", "cpu", "-o", str(artifact), source)
one = artifact.read_bytes()
run(tombac, "build", source, "-o", str(artifact), "--target", "cpu-v3")
bundle = artifact.read_bytes()
sections = [tuple(int.from_bytes(one[p + a:p + a + 8], "little") for a in (8, 16)) for p in (32, 64)]
index_at, index_size = (int.from_bytes(bundle[32 + a:40 + a], "little") for a in (8, 16))
objects = [one[offset:offset + size] for offset, size in sections]
seeds = {"0.file": one, "0.bundle": bundle, "1.file": one, "1.bundle": bundle, "2": manifest, "3": listing,
         "4": bundle[index_at:index_at + index_size] + b"\0" + one, "5": max(objects, key=lambda o: o[:4] == b"\x7fELF")}
for name, text in seeds.items():
    (folder / name).write_bytes(bytes([int(name[0])]) + text)
