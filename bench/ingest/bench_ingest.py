#!/usr/bin/env python3
"""How fast imports are, as ratios to peers of the same run, and how much memory the server takes.

  bench_ingest            everything, at full length (an hour or so)
  bench_ingest --smoke    everything for an instant: that it runs
  bench_ingest --memory   only the peaks of memory at n and 10 n, which must not differ by more than 10 %
  bench_ingest --only NAME[,NAME]   archive, chain, loose, fair, memory, large
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

BIN = pathlib.Path(__file__).resolve().parent
CORES = os.cpu_count()
# Goals of the issue that this measures: within 5x of bsdtar, within 1.5x of the steps' own CPU.
ARCHIVE_GOAL, CHAIN_GOAL, FAIR_GOAL = 5.0, 1.5, 2.0
MEMORY_GOAL_KIB, GROWTH_GOAL = 256 * 1024, 1.10


def say(text):
    print(text, flush=True)


def quern(data, *arguments, **options):
    environment = dict(os.environ, QUERN_DATA=str(data), QUERN_FREE_MIN="0")
    return subprocess.run([BIN / "quern", *map(str, arguments)], env=environment, check=True,
                          capture_output=True, text=True, **options).stdout


class Server:
    """quern serve, with the peak of its anonymous memory and its CPU."""

    def __init__(self, data, *arguments):
        environment = dict(os.environ, QUERN_DATA=str(data), QUERN_FREE_MIN="0", QUERN_LOG_LEVEL="warn")
        self.data, self.peak_kib = data, 0
        self.process = subprocess.Popen([BIN / "quern", "serve", "--listen", "127.0.0.1:0", *arguments],
                                        env=environment, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()
        self.looking = threading.Thread(target=self.look, daemon=True)
        self.looking.start()

    def look(self):
        while self.process.poll() is None:
            self.peak_kib = max(self.peak_kib, self.rss_anon_kib())
            time.sleep(0.05)

    def rss_anon_kib(self):
        try:
            status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return 0
        found = re.search(r"RssAnon:\s+(\d+) kB", status)
        return int(found[1]) if found else 0

    def cpu_s(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)


def make_zip(path, members, content, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for i in range(members):
            archive.writestr(zipfile.ZipInfo(f"d{i // 1000}/f{i}.{content.suffix}"), content(i))


def binary(i):
    """Bytes that nobody handles."""
    return bytes((0, 1, 2, 3)) + i.to_bytes(8, "little") * 12


binary.suffix = "bin"


def letter(i):
    return f"Line {i} of a letter that somebody wrote, with a few words in it.\n" * 8


letter.suffix = "txt"


def job_of(data, job):
    return json.loads(quern(data, "job", job, "--json").splitlines()[0])


def step_cpu_ms():
    """What one text and one detection cost when their steps are called in a loop, in one process."""
    told = subprocess.run([BIN / "worker_bench", "--benchmark_format=json",
                           "--benchmark_filter=BM_Text/500$|BM_Detect"],
                          check=True, capture_output=True, text=True).stdout
    unit = {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3}
    cost = {}
    for run in json.loads(told)["benchmarks"]:
        cpu_ms = run["cpu_time"] * unit[run["time_unit"]]
        if "BM_Text" in run["name"]:
            cost["Text"] = cpu_ms
        elif "items_per_second" in run:
            cost["Detect"] = 1e3 / run["items_per_second"]
        else:
            cost["Detect"] = cpu_ms
    return cost


def archive(work, scale):
    """Archive alone, children durable, against bsdtar -x to the same disk."""
    members = scale(100_000, 500)
    path = work / "small.zip"
    make_zip(path, members, binary)
    out = work / "out"
    out.mkdir()
    begun = time.monotonic()
    subprocess.run(["bsdtar", "-xf", path, "-C", out], check=True)
    peer_s = time.monotonic() - begun
    shutil.rmtree(out)
    with Server(work / "data", "--steps", "Archive=1,Detect=0") as server:
        begun = time.monotonic()
        # Its type is told, so that nothing but Archive runs.
        subprocess.run(["curl", "-s", "--fail", "-T", path, "-X", "POST", "--unix-socket",
                        server.data / "quern.sock", "http://localhost/api/v1/collections/default/files"
                        "?filename=small.zip&content_type=application/zip"],
                       check=True, capture_output=True)
        while True:
            root = json.loads(curl(server.data, "/api/v1/files/1"))
            if root["state"] in ("processed", "ingested"):
                break
            time.sleep(0.02)
        wall_s = time.monotonic() - begun
        say(f"archive: {members} members in {wall_s:.2f} s ({members / wall_s:.0f}/s), bsdtar {peer_s:.2f} s: "
            f"ratio {wall_s / peer_s:.2f} (goal {ARCHIVE_GOAL}); server {server.cpu_s() / members * 1e6:.0f} us "
            f"of CPU a member, peak {server.peak_kib / 1024:.0f} MiB")


def curl(data, address):
    return subprocess.run(["curl", "-s", "--unix-socket", data / "quern.sock", "http://localhost" + address],
                          check=True, capture_output=True, text=True).stdout


def chain(work, scale):
    """A zip of texts to documents, against the CPU of the same steps in a loop."""
    members = scale(100_000, 50)
    path = work / "letters.zip"
    make_zip(path, members, letter)
    cost = step_cpu_ms()
    cpu_s = members * (cost["Text"] + cost["Detect"]) / 1e3
    with Server(work / "data") as server:
        begun = time.monotonic()
        quern(server.data, "add", path)
        wall_s = time.monotonic() - begun
        ideal_s = cpu_s / CORES
        say(f"chain: {members} texts in {wall_s:.1f} s ({members / wall_s:.0f}/s); the steps alone {ideal_s:.1f} s "
            f"({cost['Text']:.2f} + {cost['Detect']:.2f} ms each, {CORES} cores): ratio {wall_s / ideal_s:.2f} "
            f"(goal {CHAIN_GOAL}); server {server.cpu_s() / members * 1e6:.0f} us of CPU a text, "
            f"overhead of a task {(wall_s * CORES - cpu_s) / members * 1e3:.2f} ms, "
            f"peak {server.peak_kib / 1024:.0f} MiB")


def loose(work, scale):
    """Loose files of a folder."""
    files = scale(10_000, 50)
    folder = work / "loose"
    for i in range(files):
        path = folder / f"d{i // 100}" / f"f{i}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(binary(i))
    copied = work / "copied"
    begun = time.monotonic()
    subprocess.run(["cp", "-r", folder, copied], check=True)
    peer_s = time.monotonic() - begun
    with Server(work / "data") as server:
        begun = time.monotonic()
        quern(server.data, "add", folder)
        wall_s = time.monotonic() - begun
        say(f"loose: {files} files in {wall_s:.2f} s ({files / wall_s:.0f}/s), cp -r {peer_s:.2f} s: ratio "
            f"{wall_s / peer_s:.1f}; server {server.cpu_s() / files * 1e6:.0f} us of CPU a file")


def fair(work, scale):
    """A small import alone, and while a huge one runs."""
    small, huge = work / "small.zip", work / "huge.zip"
    make_zip(small, scale(100, 5), letter)
    make_zip(huge, scale(20_000, 50), letter)
    with Server(work / "data") as server:
        quern(server.data, "add", small)  # workers are warm
        begun = time.monotonic()
        quern(server.data, "add", small)
        alone_s = time.monotonic() - begun
        quern(server.data, "add", huge, "--no-wait")
        time.sleep(scale(5, 0.2))
        begun = time.monotonic()
        quern(server.data, "add", small)
        beside_s = time.monotonic() - begun
        say(f"fair: a small import takes {alone_s:.2f} s alone and {beside_s:.2f} s beside a huge one: ratio "
            f"{beside_s / alone_s:.2f} (goal {FAIR_GOAL})")


def peak_of(work, members, content):
    path = work / "many.zip"
    make_zip(path, members, content)
    with Server(work / "data") as server:
        begun = time.monotonic()
        quern(server.data, "add", path)
        wall_s = time.monotonic() - begun
        peak_kib = server.peak_kib
    shutil.rmtree(work / "data")
    path.unlink()
    return peak_kib, wall_s


def memory(work, scale):
    """The peak at 10 n is that at n, in a server whose caches are as full as they get."""
    worst = 0.0
    cases = (("unhandled", binary, scale(5000, 1000)), ("texts", letter, scale(300, 50)))
    with Server(work / "data") as server:
        warm = work / "warm.zip"
        make_zip(warm, scale(50_000, 3000), binary)  # as large as the largest that is measured
        quern(server.data, "add", warm)
        for name, content, members in cases:
            peaks = []
            for count in (members, members * 10):
                path = work / f"{name}-{count}.zip"
                make_zip(path, count, content)
                server.peak_kib = 0
                quern(server.data, "add", path)
                peaks.append(server.peak_kib)
            worst = max(worst, peaks[1] / peaks[0])
            say(f"memory: {name}: peak RssAnon {peaks[0] / 1024:.1f} MiB at {members}, {peaks[1] / 1024:.1f} MiB at "
                f"{members * 10}: {peaks[1] / peaks[0]:.3f} (goal below {GROWTH_GOAL})")
    return worst


def large(work, scale):
    """A million members, a hundred thousand texts, 20 GB in one file: below 256 MiB."""
    for name, content, members in (("unhandled", binary, scale(1_000_000, 200)), ("texts", letter, scale(100_000, 20))):
        peak_kib, wall_s = peak_of(work, members, content)
        say(f"large: {members} {name} in {wall_s:.0f} s, peak {peak_kib / 1024:.0f} MiB (goal below 256)")
    path = work / "sparse.bin"
    with open(path, "wb") as file:
        file.truncate(scale(20 * 10**9, 50 * 10**6))
    with Server(work / "data") as server:
        begun = time.monotonic()
        quern(server.data, "add", path)
        say(f"large: a file of {path.stat().st_size / 1e9:.1f} GB in {time.monotonic() - begun:.0f} s, "
            f"peak {server.peak_kib / 1024:.0f} MiB (goal below 256)")


PARTS = {"archive": archive, "chain": chain, "loose": loose, "fair": fair, "memory": memory, "large": large}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--part", type=float, default=1.0, help="of the full length")
    options, _ = parser.parse_known_args()
    names = ["memory"] if options.memory else [n for n in options.only.split(",") if n] or list(PARTS)
    if options.smoke:
        scale = lambda full, smoke: smoke
    else:
        scale = lambda full, smoke: type(full)(full * options.part)
    grown = 0.0
    for name in names:
        with tempfile.TemporaryDirectory(prefix="quern-bench-") as folder:
            grown = max(grown, PARTS[name](pathlib.Path(folder), scale) or 0.0)
    if options.memory and grown > GROWTH_GOAL:
        # A machine that is busy with others adds to a peak, and never takes from it: the lesser of two counts.
        with tempfile.TemporaryDirectory(prefix="quern-bench-") as folder:
            grown = min(grown, memory(pathlib.Path(folder), scale))
    if options.memory and grown > GROWTH_GOAL:
        sys.exit(f"the peak of memory grew by a factor of {grown:.3f} with ten times the files")


main()
