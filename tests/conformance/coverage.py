"""docs/coverage.md names tests that exist: coverage.py CONFORMANCE PAGE. Names in backquotes with a dot are conformance tests, a `*` at
the end stands for the rest."""
import re
import subprocess
import sys

names = subprocess.run([sys.argv[1], "--list"], capture_output=True, text=True, check=True).stdout.split()
tables = [line for line in open(sys.argv[2]) if line.startswith("|") and "conformance" in line]
wanted = {name for line in tables for name in re.findall(r"`([a-z]+\.[\w.*-]+)`", line)}
missing = [name for name in wanted if not any(known.startswith(name.rstrip("*")) for known in names)]
assert len(wanted) > 25, "the page's tables are not where they are looked for"
print("\n".join(f"no conformance test {name}" for name in missing))
sys.exit(bool(missing))
