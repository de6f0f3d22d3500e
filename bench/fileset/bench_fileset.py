#!/usr/bin/env python3
"""How fast files of datasets are downloaded and verified, beside curl and sha256sum in the same run.

  bench_fileset                 everything, at full length
  bench_fileset --smoke         everything for an instant: that it runs
  bench_fileset --only NAME[,NAME]   large, small
  bench_fileset --size BYTES    of the large file (10 GB)
  bench_fileset --rounds N      the medians are of so many (3)
  bench_fileset --json          one object a line

large   One file from a local server: download, MD5, SHA-1, SHA-256, synced to the disk with notes on the way. The peer is
        `curl -O`, then `sha256sum`, and `sync` of the file, since ours is on the disk when it ends; and without that.
        Goal: at least 0.9 of the peer's speed, memory flat.
small   10,000 files of 10 kB. The peer is one curl with as many transfers at once, then `sha256sum` of all. Ours has each
        file and its note on the disk before it is called verified.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

BIN = pathlib.Path(__file__).resolve().parent
LARGE_GOAL, MEMORY_GOAL_MIB = 0.9, 64
AT_ONCE = 8
PATIENCE_S = 7200
OPTIONS = None


def say(text, **record):
    if record or not OPTIONS.json:
        print(json.dumps(record) if OPTIONS.json else text, flush=True)


class Server:
    def __init__(self):
        self.process = subprocess.Popen([BIN / "faulty_files_server"], stdout=subprocess.PIPE, text=True)
        self.address = "http://" + self.process.stdout.readline().split()[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)


class Run:
    """Programs one after the other: wall, CPU, the largest peak of memory of their own, output."""

    def __init__(self, *commands, folder=None):
        self.peak_kib, self.cpu_s, self.output, begun = 0, 0.0, "", time.monotonic()
        for command in commands:
            self.run([str(part) for part in command], folder)
        self.wall_s = time.monotonic() - begun

    def run(self, command, folder):
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        ended = threading.Event()
        watcher = threading.Thread(target=self.watch, args=(process.pid, ended), daemon=True)
        watcher.start()
        timer = threading.Timer(PATIENCE_S, process.kill)
        timer.start()
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        ended.set()
        watcher.join()
        self.output += output
        self.cpu_s += usage.ru_utime + usage.ru_stime
        if process.returncode != 0:
            sys.exit(f"{command[0]} ended with {process.returncode}\n{output[-2000:]}")

    def watch(self, pid, ended):
        while not ended.wait(0.05):
            try:
                status = pathlib.Path(f"/proc/{pid}/status").read_text()
            except OSError:
                return
            found = re.search(r"RssAnon:\s+(\d+) kB", status)
            self.peak_kib = max(self.peak_kib, int(found[1]) if found else 0)


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    os.sync()
    return folder


def median(runs, key):
    return statistics.median(getattr(run, key) for run in runs)


def large(work, scale):
    size = OPTIONS.size or scale(10_000_000_000, 64_000_000)
    rounds = OPTIONS.rounds or scale(3, 1)
    ours, peers, unsynced = [], [], []
    with Server() as server:
        url = f"{server.address}/made/{size}/1"
        for _ in range(rounds):
            folder = fresh(work / "peer")
            curl = ["curl", "--silent", "--show-error", "--fail", "-O", url]
            plain = Run(curl, ["sha256sum", "1"], folder=folder)
            synced = Run(["sync", "1"], folder=folder)
            expected = plain.output.split()[0]
            unsynced.append(plain)
            peers.append(plain.wall_s + synced.wall_s)
            folder = fresh(work / "ours")
            shutil.rmtree(work / "peer")
            run = Run([BIN / "download_driver", "--folder", folder, url])
            if run.output.split() != ["verified-local", expected, str(size)]:
                sys.exit(f"not the same file: {run.output} {expected}")
            ours.append(run)
            shutil.rmtree(folder)
    wall, peer, quick = median(ours, "wall_s"), statistics.median(peers), median(unsynced, "wall_s")
    peak = max(run.peak_kib for run in ours)
    say(f"large: {size} bytes, median of {rounds}")
    for name, seconds, cpu in (("quern", wall, median(ours, "cpu_s")),
                               ("curl -O; sha256sum; sync", peer, median(unsynced, "cpu_s")),
                               ("curl -O; sha256sum", quick, median(unsynced, "cpu_s"))):
        say(f"  {name:<26}{size / seconds / 1e6:>8.0f} MB/s{cpu / size * 1e9:>8.2f} CPU s/GB")
    say(f"  goal: {peer / wall:.2f} of the peer's speed ({LARGE_GOAL}), {quick / wall:.2f} of the one that syncs nothing; "
        f"peak RssAnon {peak / 1024:.1f} MiB (below {MEMORY_GOAL_MIB})",
        part="large", bytes=size, wall_s=wall, peer_s=peer, peer_unsynced_s=quick, ratio=peer / wall,
        ratio_unsynced=quick / wall, peak_kib=peak, cpu_s=median(ours, "cpu_s"), peer_cpu_s=median(unsynced, "cpu_s"))
    if peak / 1024 > MEMORY_GOAL_MIB:
        sys.exit(f"memory is not flat: {peak / 1024:.0f} MiB")


def small(work, scale):
    count, size = scale(10_000, 100), 10_000
    with Server() as server:
        base = f"{server.address}/made/{size}"
        folder = fresh(work / "peer")
        listing = folder / "list"
        listing.write_text("".join(f'url = "{base}/{i}"\noutput = "f{i}"\n' for i in range(count)))
        curl = ["curl", "--silent", "--fail", "--parallel", "--parallel-max", AT_ONCE, "--config", "list"]
        peer = Run(curl, ["sh", "-c", "find . -name 'f*' | xargs sha256sum > sums"], folder=folder)
        folder = fresh(work / "ours")
        shutil.rmtree(work / "peer")
        run = Run([BIN / "download_driver", "--folder", folder, "--at-once", AT_ONCE, "--base", base, "--count", count])
    say(f"small: {count} files of {size} bytes, {AT_ONCE} at once: {count / run.wall_s:.0f} files/s, "
        f"{run.cpu_s / count * 1e3:.2f} CPU ms each; curl and sha256sum, which sync nothing: {count / peer.wall_s:.0f} files/s; "
        f"ratio {peer.wall_s / run.wall_s:.2f}; peak RssAnon {run.peak_kib / 1024:.1f} MiB",
        part="small", files=count, bytes=size, wall_s=run.wall_s, peer_s=peer.wall_s, ratio=peer.wall_s / run.wall_s,
        cpu_s=run.cpu_s, peak_kib=run.peak_kib)


PARTS = {"large": large, "small": small}


def main():
    global OPTIONS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--size", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--only", default="")
    OPTIONS, _ = parser.parse_known_args()
    scale = lambda full, smoke: smoke if OPTIONS.smoke else full
    for name in [each for each in OPTIONS.only.split(",") if each] or PARTS:
        with tempfile.TemporaryDirectory(prefix="quern-bench-") as folder:
            PARTS[name](pathlib.Path(folder), scale)


main()
