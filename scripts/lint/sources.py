"""What the checks share: the files of a tree, C++ text without its comments, how findings are told."""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent.parent
SKIPPED_FOLDERS = {".git", "build", "node_modules", "__pycache__"}


def arguments(description):
    """Every check takes --root, so that the self-test can run it on a tree of its own."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", type=Path, default=HOME, help="the tree to check")
    return parser


def all_files(root):
    """Paths from the root, sorted: what git tracks or would track; without git, everything."""
    listed = None
    if (root / ".git").exists():
        command = ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"]
        run = subprocess.run(command, capture_output=True, check=False)
        if run.returncode == 0:
            listed = [name for name in run.stdout.decode().split("\0") if name]
    if listed is None:
        listed = []
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
            listed += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    # Git still lists a file that was deleted but not committed.
    return sorted(Path(name) for name in set(listed) if (root / name).is_file())


def cpp_files(root, tops=("src", "tests", "bench", "examples")):
    return [p for p in all_files(root) if p.suffix in (".h", ".cc") and p.parts[0] in tops]


def text_of(path):
    """The text of a file, or None for a binary one."""
    data = path.read_bytes()
    return None if b"\0" in data else data.decode("utf-8", errors="replace")


# A digit before a quote makes it a separator (1'000), not a character.
_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<literal>R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"
        | "(?:\\.|[^"\\\n])*" | (?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+')""",
    re.S | re.X,
)


def blank(text, literals):
    """The same text with comments (and literals, if asked) as spaces: lines and columns stay."""

    def spaces(match):
        if match.group("comment") or literals:
            return re.sub(r"[^\n]", " ", match.group())
        return match.group()

    return _TOKEN.sub(spaces, text)


def line_at(text, offset):
    return text.count("\n", 0, offset) + 1


def finish(findings, warnings=()):
    for warning in warnings:
        print(f"warning: {warning}")
    for finding in findings:
        print(finding)
    sys.exit(1 if findings else 0)
