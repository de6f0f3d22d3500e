#!/usr/bin/env python3
"""A worker for Quern in the standard library alone: it serves a step by turning its input into a child.

  worker.py http://127.0.0.1:8080 Office     # every Office file becomes a text file that tells its size

See docs/worker-protocol.md. Kill it whenever you like: the task is lent to another.
"""
import http.client
import json
import sys
import time
import urllib.parse

BOUNDARY = "quern-example-worker"


def part(name, body):
    """One part of the answer: multipart/form-data, the name in the only header."""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'
    return head.encode() + body + b"\r\n"


def convert(task, blob):
    """The parts of the answer, one by one. Each child begins with N.json; done or error is the last part."""
    if not blob:
        yield part("error", b"the file is empty")
        return
    child = {key: task[key] for key in ("languageCode", "metadata", "wantOcr", "wantSplitByPage")}
    child.update(filename=task["filename"] + ".txt", contentType="text/plain")
    yield part("0.json", json.dumps(child).encode())
    yield part("0.blob", f"{task['filename']} has {len(blob)} bytes\n".encode())
    yield part("progress", b"1")
    yield part("done", b"")


def request(url, method, body=None, headers=None):
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(address.netloc, timeout=60)
    target = address.path + ("?" + address.query if address.query else "")
    connection.request(method, target, body, headers or {}, encode_chunked=hasattr(body, "__next__"))
    answer = connection.getresponse()
    return answer.status, answer.read()


def answer_of(task, blob):
    yield from convert(task, blob)
    yield f"--{BOUNDARY}--".encode()


def work(server, step):
    """Asks, converts, answers, for ever. The server holds the question until there is a task."""
    while True:
        try:
            status, body = request(f"{server}/steps/{step}", "POST")
            if status == 204:
                continue
            task = json.loads(body)
            _, blob = request(task["blob"]["url"], "GET")
            if len(blob) != task["blob"]["nBytes"]:
                continue  # the connection broke; the task comes back to somebody
            # Streamed, so that each child is handed on while the next is being made.
            request(task["url"], "POST", answer_of(task, blob), {
                "Content-Type": f'multipart/form-data; boundary="{BOUNDARY}"', "Transfer-Encoding": "chunked"})
        except (OSError, http.client.HTTPException):
            time.sleep(1)  # the server is away


work(sys.argv[1].rstrip("/"), sys.argv[2])
