"""Runs extremum.metal on the cpu device: extremum.py TOMBAC FILE. The expected values are computed here."""
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

THREADS, STEPS = 160, 5
VALUES = [math.nan, math.nan, 0.0, -0.0, math.inf, -math.inf, 1.0, -1.0]


def words(path):
    data = path.read_bytes()
    data = data[10 + struct.unpack_from("<H", data, 8)[0]:]  # npy, version 1
    return struct.unpack("<%dI" % (len(data) // 4), data)


def expected(row):
    most, least, some = -math.inf, math.inf, 0.5
    for r in row:
        x = VALUES[r & 7]
        if math.isnan(x):
            continue
        most, least = max(most, x), min(least, x)
        some = max(some, x) if r & 8 else some
    return most, least, some


bad = 0
with tempfile.TemporaryDirectory() as name:
    for mode in ("safe", "fast"):
        which, out = pathlib.Path(name) / "which.npy", pathlib.Path(name) / "out.npy"
        subprocess.run([sys.argv[1], "run", sys.argv[2], "extrema", "0=u32[%d]:rand(3,0,15)" % (THREADS * STEPS),
                        "1=u32[%d]" % (3 * THREADS), "2=%d" % STEPS, "--grid", str(THREADS), "--group", "96", "--device", "cpu",
                        "--math", mode, "--no-cache", "--save", "0=%s" % which, "--save", "1=%s" % out],
                       check=True, timeout=60, stdout=subprocess.DEVNULL)
        choice, found = words(which), words(out)
        for i in range(THREADS):
            want = expected(choice[i * STEPS:(i + 1) * STEPS])
            got = struct.unpack("<3f", struct.pack("<3I", *found[3 * i:3 * i + 3]))
            if want != got:  # zeros of either sign are equal
                bad += 1
                print("%s: thread %d: %s, expected %s" % (mode, i, got, want))
    kinds = {r & 7 for r in choice}
    if kinds != set(range(8)):
        sys.exit("the data lacks some of the values")
sys.exit(bad != 0)
