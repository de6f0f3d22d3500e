#!/usr/bin/env python3
"""How fast crawls are, beside wget and wget2 against the same local site in the same run.

  bench_crawl                 everything, at full length
  bench_crawl --smoke         everything for an instant: that it runs
  bench_crawl --only NAME[,NAME]   web, polite, memory
  bench_crawl --without-quern the peers alone
  bench_crawl --json          one object a line

web     N pages of one host without a gap. Question: pages per second while fetching and archiving (by the site's own
        log, first request to last answer) and until all is done (for quern: searchable), and CPU per page of the
        client and what it started. Expect: fetching at least as fast as wget with a WARC, the whole within 3x of it.
polite  1,000 hosts of 10 pages with a gap of 1 s, which asks for 1,000 pages a second, and of 3 s. Expect: near the time
        that the gap dictates where the machine is fast enough for that, and no gap broken.
memory  the peak of quern's own memory at n, 10 n and 100 n addresses. Expect: flat.

wget also writes each page to a file beside its WARC, since it reads the links there.
"""

import argparse
import collections
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
import urllib.parse
import urllib.request

BIN = pathlib.Path(__file__).resolve().parent
FETCH_GOAL, CHAIN_GOAL, POLITE_GOAL, GROWTH_GOAL = 1.0, 3.0, 1.2, 1.1
PATIENCE_S = 3600
OPTIONS = None


def say(text, **record):
    if record or not OPTIONS.json:
        print(json.dumps(record) if OPTIONS.json else text, flush=True)


def cpu_of(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Site:
    """quern_test_site; what is asked for by address goes to big.test."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([BIN / "quern_test_site", "--fallback", "big.test", *arguments],
                                        stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().split()[1]

    def call(self, what, data=None, **query):
        address = f"http://{self.address}/{what}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(urllib.request.Request(address, data=data)) as answer:
            return answer.read().decode()

    def set(self, host, key, value):
        self.call("__set", data=b"", host=host, key=key, value=value)

    def log(self):
        return [json.loads(line) for line in self.call("__log").splitlines()]

    def reset(self):
        self.call("__reset", data=b"")

    def cpu_s(self):
        return cpu_of(self.process.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)


class Run:
    """A client from its start to its end: wall, CPU of it and its descendants, its own peak of memory."""

    def __init__(self, command, environment=None):
        self.peak_kib, begun = 0, time.monotonic()
        process = subprocess.Popen([str(part) for part in command], env=dict(os.environ, **(environment or {})),
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.output, self.ended = "", False
        threads = [threading.Thread(target=each, args=(process,), daemon=True) for each in (self.read, self.look)]
        for thread in threads:
            thread.start()
        timer = threading.Timer(PATIENCE_S, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        self.wall_s = time.monotonic() - begun
        self.ended = True
        process.returncode = self.status = os.waitstatus_to_exitcode(status)
        self.cpu_s = usage.ru_utime + usage.ru_stime
        for thread in threads:
            thread.join()

    def read(self, process):
        for line in process.stdout:
            self.output = (self.output + line)[-20000:]

    def look(self, process):
        while not self.ended:
            try:
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                return
            found = re.search(r"RssAnon:\s+(\d+) kB", status)
            self.peak_kib = max(self.peak_kib, int(found[1]) if found else 0)
            time.sleep(0.05)


def quern_crawl(data, seeds, *more, connect_to=None):
    """What is measured of ours. The address rules refuse the loopback unless told."""
    environment = {"QUERN_DATA": str(data), "QUERN_FREE_MIN": "0", "QUERN_LOG_LEVEL": "warn"}
    if connect_to:
        environment["QUERN_CONNECT_TO"] = f"*={connect_to}"
    return ([BIN / "quern", "crawl", *seeds, "--allow-private", "*", *more], environment)


# Name and command for a site's address and a folder to write to. None of them looks at robots.txt or waits.
def peers(site, folder):
    address = f"http://{site.address}/"
    wget = ["wget", "--quiet", "--recursive", "--level=inf", "--no-parent", "-e", "robots=off", "-P", folder / "files"]
    wget2 = ["wget2", "--quiet", "--recursive", "--level=0", "--no-parent", "--robots=off", "--no-compression", "-P",
             folder / "files"]
    return {
        "wget --warc-file": (wget + [f"--warc-file={folder / 'archive'}", address], {}),
        "wget": (wget + [address], {}),
        "wget2": (wget2 + [address], {}),
    }


def clients(site, folder):
    all_of_them = peers(site, folder)
    if not OPTIONS.without_quern:
        all_of_them["quern"] = quern_crawl(folder / "data", [f"http://{site.address}/"], "--delay", "0",
                                           "--max-pages", "2000000")
    return all_of_them


def measure(site, command, environment, pages):
    """One run of one client. It fails where a page was missed: a fast crawl of less is no crawl."""
    server_before = site.cpu_s()
    run = Run(command, environment)
    log = site.log()
    fetched = {entry["target"] for entry in log if entry["status"] == 200} - {"/robots.txt"}
    if len(fetched) != pages:
        sys.exit(f"{command[0]} ended with {run.status} after {len(fetched)} of {pages} pages\n{run.output[-2000:]}")
    began = min(entry["began_us"] for entry in log)
    ended = max(entry.get("ended_us", 0) for entry in log)
    return {"fetch_s": (ended - began) / 1e6, "wall_s": run.wall_s, "cpu_s": run.cpu_s, "peak_kib": run.peak_kib,
            "requests": len(log), "site_cpu_s": site.cpu_s() - server_before}


def web(work, scale):
    pages, rounds = scale(5000, 100), scale(3, 1)
    measured = collections.defaultdict(list)
    with Site() as site:
        for turn in range(rounds):
            for name in clients(site, work):
                site.reset()
                site.set("big.test", "pages", pages)
                folder = work / f"{turn}-{re.sub('[^a-z0-9]', '', name)}"
                folder.mkdir()
                command, environment = clients(site, folder)[name]
                measured[name].append(measure(site, command, environment, pages))
                shutil.rmtree(folder)
    median = {name: {key: statistics.median(run[key] for run in runs) for key in runs[0]}
              for name, runs in measured.items()}
    base = median["wget --warc-file"]
    say(f"web: {pages} pages, median of {rounds}; ratios are times of wget with a WARC to theirs, more is better")
    say(f"  {'client':<18}{'fetched/s':>10}{'ratio':>7}{'done/s':>9}{'ratio':>7}{'CPU ms/page':>13}{'site busy':>11}")
    for name, m in median.items():
        say(f"  {name:<18}{pages / m['fetch_s']:>10.0f}{base['fetch_s'] / m['fetch_s']:>7.2f}"
            f"{pages / m['wall_s']:>9.0f}{base['wall_s'] / m['wall_s']:>7.2f}{m['cpu_s'] / pages * 1e3:>13.3f}"
            f"{m['site_cpu_s'] / m['fetch_s']:>10.0%}", part="web", client=name, pages=pages, **m)
    if "quern" in median:
        ours = median["quern"]
        say(f"  goals: fetching {base['fetch_s'] / ours['fetch_s']:.2f} of wget's speed (goal {FETCH_GOAL}); all of it "
            f"{ours['wall_s'] / base['wall_s']:.2f} times wget's time (goal {CHAIN_GOAL})")


def shortest_gaps(log):
    """Per host, between two starts, in seconds."""
    starts = collections.defaultdict(list)
    for entry in log:
        starts[entry["host"]].append(entry["began_us"])
    return {host: min(b - a for a, b in zip(all_of_it, all_of_it[1:])) / 1e6
            for host, all_of_it in ((host, sorted(each)) for host, each in starts.items()) if len(all_of_it) > 1}


def polite(work, scale):
    if OPTIONS.without_quern:
        return say("polite: there is no peer for this part")
    for delay in scale((1.0, 3.0), (0.1,)):
        polite_with(work / f"data-{delay}", scale(1000, 20), delay)


def polite_with(data, hosts, delay):
    with Site() as site:
        seeds = [f"http://host{i:04}.test/" for i in range(hosts)]
        run = Run(*quern_crawl(data, seeds, "--delay", str(delay), connect_to=site.address))
        log = site.log()
        pages = sum(entry["status"] == 200 and entry["target"] != "/robots.txt" for entry in log)
        if pages < hosts * 10:
            sys.exit(f"quern crawl ended with {run.status} after {pages} of {hosts * 10} pages\n{run.output[-2000:]}")
        fetch_s = (max(entry.get("ended_us", 0) for entry in log) - min(entry["began_us"] for entry in log)) / 1e6
        # Of each host robots.txt and ten pages, one after the other.
        ideal_s = (len(log) / hosts - 1) * delay
        shortest = min(shortest_gaps(log).values())
        say(f"polite: {pages} pages of {hosts} hosts, {delay} s apart on each, in {fetch_s:.1f} s ({pages / fetch_s:.0f}"
            f"/s); the gap alone takes {ideal_s:.1f} s: ratio {fetch_s / ideal_s:.2f} (goal {POLITE_GOAL}); all done after "
            f"{run.wall_s:.1f} s; shortest gap {shortest:.3f} s; CPU {run.cpu_s / pages * 1e3:.2f} ms a page; peak "
            f"{run.peak_kib / 1024:.0f} MiB",
            part="polite", pages=pages, hosts=hosts, delay_s=delay, fetch_s=fetch_s, ideal_s=ideal_s,
            wall_s=run.wall_s, shortest_gap_s=shortest, cpu_s=run.cpu_s, peak_kib=run.peak_kib)
        if shortest < delay:
            sys.exit(f"a gap of {shortest} s is shorter than {delay} s")


def memory(work, scale):
    if OPTIONS.without_quern:
        return say("memory: there is no peer for this part")
    smallest, peaks = scale(1000, 20), []
    for pages in (smallest, smallest * scale(10, 2), smallest * scale(100, 4), smallest * scale(1000, 8)):
        with Site("--no-memory") as site:
            site.set("big.test", "pages", pages)
            data = work / f"data-{pages}"
            run = Run(*quern_crawl(data, [f"http://{site.address}/"], "--delay", "0", "--max-pages", "2000000"))
            if run.status != 0:
                sys.exit(f"quern crawl ended with {run.status}\n{run.output[-2000:]}")
            shutil.rmtree(data)
        peaks.append(run.peak_kib)
        say(f"memory: {pages} addresses: peak RssAnon {run.peak_kib / 1024:.1f} MiB in {run.wall_s:.1f} s, "
            f"{run.peak_kib / peaks[0]:.2f} of the first (goal below {GROWTH_GOAL} from the second on)",
            part="memory", pages=pages, peak_kib=run.peak_kib, wall_s=run.wall_s)


PARTS = {"web": web, "polite": polite, "memory": memory}


def main():
    global OPTIONS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--without-quern", action="store_true")
    parser.add_argument("--only", default="")
    OPTIONS, _ = parser.parse_known_args()
    scale = lambda full, smoke: smoke if OPTIONS.smoke else full
    for name in [each for each in OPTIONS.only.split(",") if each] or PARTS:
        with tempfile.TemporaryDirectory(prefix="quern-bench-") as folder:
            PARTS[name](pathlib.Path(folder), scale)


main()
