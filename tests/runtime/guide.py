#!/usr/bin/env python3
"""Does what docs/guide.md or a page like it says, in an empty folder: writes the files that it shows and runs its commands in order; where output
is shown, it must be what the command prints. `...` in it stands for anything. The build of Tombac itself is what ctest has done.

    guide.py GUIDE SOURCE BUILD CMAKE
"""
import os
import re
import subprocess
import sys
import tempfile

BUILDING = "cmake -S . -B build -G Ninja && cmake --build build"


def blocks(text):
    """(heading line before the block, language, content)"""
    before, at = "", 0
    lines = text.split("\n")
    while at < len(lines):
        if lines[at].startswith("```"):
            end = lines.index("```", at + 1)
            yield before, lines[at][3:].strip(), lines[at + 1:end]
            at = end
        elif lines[at].strip():
            before = lines[at]
        at += 1


def matches(expected, printed):
    pattern = "".join(".*?" if part == "..." else re.escape(part) for part in re.split(r"(\.\.\.)", expected))
    return re.fullmatch(pattern, printed, re.S) is not None


def save(before, language, lines, folder):
    """Writes a listing that has a file name before it; False if the block is none."""
    name = re.search(r"`([a-zA-Z0-9_.]+)`[^`]*:$", before)
    if language not in ("c", "metal", "cmake", "python") or not name:
        return False
    with open(os.path.join(folder, name.group(1)), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return True


def shown(lines):
    """(command, the lines shown below it) of a block of commands"""
    lines = list(lines)
    while lines:
        command = lines.pop(0)
        assert command.startswith("$ "), command
        expected = []
        while lines and not lines[0].startswith("$ "):
            expected.append(lines.pop(0))
        yield command[2:], expected


def run(command, folder, environment):
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def main(guide, source, build, cmake):
    wrong = commands = 0
    with tempfile.TemporaryDirectory() as home:
        project = os.path.join(home, "project")
        os.mkdir(project)
        environment = dict(os.environ, HOME=home, TOMBAC_CACHE=os.path.join(home, "cache"))
        environment.pop("TOMBAC_CC", None)
        for before, language, lines in blocks(open(guide, encoding="utf-8").read()):
            if save(before, language, lines, project):
                continue
            if language == "text": # a session with another program, to be read
                continue
            if language != "sh":
                print(f"a block of '{language}' has no file name before it: {before}")
                wrong += 1
                continue
            for command, expected in shown(lines):
                commands += 1
                export = re.fullmatch(r"export (\w+)=(.*)", command)
                if export:
                    environment[export.group(1)] = run(f"echo {export.group(2)}", project, environment)[1].strip()
                    continue
                if command == BUILDING:
                    continue
                command = re.sub(r"\bcmake --install build\b", f"'{cmake}' --install '{build}'", command)
                status, printed = run(command, source if "install" in command else project, environment)
                if expected and not matches("\n".join(expected).strip(), printed.strip()):
                    print(f"$ {command}\ndocumented:\n" + "\n".join(expected) + f"\nprinted:\n{printed}")
                    wrong += 1
                elif status != 0 and not expected:
                    print(f"$ {command}: status {status}\n{printed}")
                    wrong += 1
    if commands < 7:
        print(f"only {commands} commands")
        wrong += 1
    print(f"{commands} commands, {wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(*sys.argv[1:5])
