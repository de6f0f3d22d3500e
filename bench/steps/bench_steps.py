#!/usr/bin/env python3
"""What conversion costs, per kind of file, beside what people would otherwise run. Everything in one run.

  bench_steps [--smoke] [--only KIND[,KIND]]      pdf, office, ocr, archive, all

Inputs are made here. Ours is CPU and wall time of the steps in their boxes, as `quern explain` tells them, and the
wall time of the whole import; theirs is CPU and wall time of the programs.
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile
import time
import zipfile

BIN = pathlib.Path(__file__).resolve().parent
WORDS = ("archive ledger mail harbour winter letter engine promise copy river window paper river stone number cloud "
         "market lantern garden signal record witness bridge morning answer thread").split()


def say(text):
    print(text, flush=True)


def prose(seed, words):
    """The same words for the same seed, without any library's random numbers."""
    state, text = seed * 2654435761 % 2**32 + 1, []
    for i in range(words):
        state = (state * 1103515245 + 12345) % 2**31
        text.append(WORDS[state // 7 % len(WORDS)])
        if i % 11 == 10:
            text[-1] += "."
    return " ".join(text)


class Cost:
    """CPU of all children and the wall time while it is entered."""

    def __enter__(self):
        self.before, self.begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        return self

    def __exit__(self, *_):
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.wall_s = time.monotonic() - self.begun
        self.cpu_s = (after.ru_utime + after.ru_stime) - (self.before.ru_utime + self.before.ru_stime)


def run(*command, **options):
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   **options)


def there(program):
    if shutil.which(program):
        return True
    say(f"  ({program} is not on this machine)")
    return False


class Quern:
    def __init__(self, work):
        self.environment = dict(os.environ, QUERN_DATA=str(work / "data"), QUERN_FREE_MIN="0", QUERN_LOG_LEVEL="warn")
        self.data = work / "data"

    def lines(self, *arguments):
        done = subprocess.run([BIN / "quern", *map(str, arguments), "--json"], env=self.environment, text=True,
                              check=False, capture_output=True)
        return [json.loads(line) for line in done.stdout.split("\n") if line]

    def convert(self, folder, *arguments):
        """An import; the CPU seconds of each step, how often it ran, and the wall time."""
        begun = time.monotonic()
        done = subprocess.run([BIN / "quern", "add", folder, *arguments], env=self.environment, capture_output=True,
                              text=True, check=False)
        wall_s = time.monotonic() - begun
        if done.returncode != 0:
            say(done.stdout + done.stderr)
        cpu_s, runs = {}, {}
        for file in self.lines("files"):
            about = self.lines("explain", file["file"])[0]
            step, cost = about.get("step"), about.get("cpu_ms")
            if step and cost is not None:
                cpu_s[step] = cpu_s.get(step, 0) + cost / 1000
                runs[step] = runs.get(step, 0) + 1
        errors = len(self.lines("errors"))
        shutil.rmtree(self.data)
        return cpu_s, runs, wall_s, errors


def tell(kind, documents, ours, theirs, goal):
    cpu_s, runs, wall_s, errors = ours
    for step in sorted(cpu_s):
        say(f"  {kind}: {step}: {runs[step]} times, {1000 * cpu_s[step] / runs[step]:.1f} ms of CPU each")
    total = sum(cpu_s.values())
    say(f"  {kind}: ours: {documents} documents in {wall_s:.2f} s ({documents / wall_s:.1f}/s), {total / documents:.3f} s of CPU "
        f"each, {errors} errors")
    for name, cost in theirs:
        say(f"  {kind}: {name}: {cost.wall_s:.2f} s ({documents / cost.wall_s:.1f}/s), {cost.cpu_s / documents:.3f} s of CPU each: ours "
            f"takes {total / cost.cpu_s:.2f} of its CPU, {wall_s / cost.wall_s:.2f} of its time{goal}")


def write_office(folder, count):
    folder.mkdir()
    for i in range(count):
        rows = "".join(f"<text:p>{prose(i * 100 + k, 120)}</text:p>" for k in range(30))
        (folder / f"letter{i}.fodt").write_text(
            '<?xml version="1.0" encoding="UTF-8"?><office:document '
            'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
            'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" office:version="1.2" '
            'office:mimetype="application/vnd.oasis.opendocument.text"><office:body><office:text>'
            f"{rows}</office:text></office:body></office:document>")


def make_pdfs(work, count):
    """Of office documents, by LibreOffice: fonts inside, several pages."""
    source, folder = work / "pdf-source", work / "pdf"
    write_office(source, count)
    run("soffice", f"-env:UserInstallation=file://{work}/profile", "--headless", "--convert-to", "pdf", "--outdir", folder,
        *sorted(source.iterdir()))
    return folder


def pdf(work, count):
    if not (there("soffice") and there("pdftotext")):
        return
    folder = make_pdfs(work, count)
    files = sorted(folder.iterdir())
    with Cost() as poppler:
        for file in files:
            run("pdftotext", file, work / "out.txt")
            run("pdftoppm", "-singlefile", "-jpeg", "-scale-to", "700", file, work / "out")
    tell("pdf", len(files), Quern(work).convert(folder), [("pdftotext and pdftoppm", poppler)], " (goal: half of its CPU)")


def office(work, count):
    if not there("soffice"):
        return
    folder = work / "office"
    write_office(folder, count)
    with Cost() as cold:
        for file in sorted(folder.iterdir()):
            run("soffice", f"-env:UserInstallation=file://{work}/profile", "--headless", "--convert-to", "pdf", "--outdir",
                work / "cold", file)
    tell("office", count, Quern(work).convert(folder), [("one soffice for each", cold)], " (goal: half of its time)")


def ocr(work, count):
    if not (there("tesseract") and there("soffice") and there("pdftoppm")):
        return
    folder = work / "scans"
    folder.mkdir()
    for i, file in enumerate(sorted(make_pdfs(work, count).iterdir())):
        run("pdftoppm", "-singlefile", "-png", "-r", "200", file, folder / f"scan{i}")
    with Cost() as peer:
        for file in sorted(folder.iterdir()):
            run("tesseract", file, work / "ocr", "pdf", "txt", env=dict(os.environ, OMP_THREAD_LIMIT="1"))
    tell("ocr", count, Quern(work).convert(folder, "--ocr"), [("tesseract", peer)], " (goal: no slower)")


def archive(work, count):
    if not there("unzip"):
        return
    folder = work / "zips"
    folder.mkdir()
    with zipfile.ZipFile(folder / "many.zip", "w", zipfile.ZIP_DEFLATED) as made:
        for i in range(count * 100):
            made.writestr(f"d{i % 10}/{i}.bin", bytes(4) + bytes(prose(i, 60), "ascii"))
    with Cost() as peer:
        run("unzip", "-q", folder / "many.zip", "-d", work / "unzipped")
    tell("archive", count * 100, Quern(work).convert(folder), [("unzip", peer)], "")


def everything(work, count):
    """A folder of several kinds, beside an indexer that reads them all."""
    folder = work / "all"
    folder.mkdir()
    for i in range(count):
        (folder / f"note{i}.txt").write_text(prose(i, 400))
        (folder / f"page{i}.html").write_text(f"<html><title>{i}</title><body><p>{prose(i, 400)}</p></body></html>")
        (folder / f"mail{i}.eml").write_text(f"From: a@example.org\nTo: b@example.org\nSubject: {i}\n\n{prose(i, 200)}\n")
    theirs = []
    if there("recollindex"):
        settings = work / "recoll"
        settings.mkdir()
        (settings / "recoll.conf").write_text(f"topdirs = {folder}\n")
        with Cost() as recoll:
            run("recollindex", "-c", settings)
        theirs.append(("recollindex", recoll))
    tell("all", 3 * count, Quern(work).convert(folder), theirs, "")


KINDS = {"pdf": (pdf, 20), "office": (office, 10), "ocr": (ocr, 6), "archive": (archive, 50), "all": (everything, 100)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--only", default=",".join(KINDS))
    options = parser.parse_args()
    for kind in options.only.split(","):
        measure, count = KINDS[kind]
        with tempfile.TemporaryDirectory(prefix="quern-bench-") as work:
            say(f"== {kind}")
            measure(pathlib.Path(work), 2 if options.smoke else count)


if __name__ == "__main__":
    main()
