// What the tests in a real browser share: the real program, Debian's Chromium, and what a person does.
//
//   const server = await startServer({ args, data, port, env })
//       The program of QUERN_BIN (a folder; default build/release/bin) with a data folder of its own and a
//       port that it keeps over restarts. `args` follow `quern serve`; `env` is added to the environment.
//     server.url, server.data, server.port, server.pid
//     await server.kill()      SIGKILL; returns when it and its workers are gone
//     await server.start()     starts it again after kill(); returns when it answers
//     await server.restart()   kill() and start()
//     await server.stop()      SIGTERM, waits, and removes the data folder
//     await server.get(path)   JSON; any status but 2xx throws. `path` may leave out /api/v1
//     await server.post(path, body), put(path, body), send(method, path, body)
//     await server.jobDone(id) waits for the end of a job, and gives the job
//     server.rssAnon()         bytes of memory of its own (RssAnon)
//   await openBrowser()        one Chromium for the file; closed when the process ends
//   const page = await openPage(server, { path, viewport, colorScheme, reducedMotion, storage })
//       A Playwright page in a context of its own, at `path` (default '/'; null: no page yet), that remembers
//       what must not happen: console errors, exceptions, breaches of the CSP, requests to other hosts.
//     page.allow(pattern)      from now on lines that match are expected; returns a function that ends that
//     page.serverDown(fn)      runs fn; failed requests are expected meanwhile, and until the next assertClean
//     page.assertClean()       fails where something was remembered that nobody allowed
//     page.done()              assertClean(), then closes the context
//   await axe(page, { exclude }) fails with a readable list on serious and critical violations
//   await noOverflow(page)     fails where the page is wider than the window, and says what is too wide
//   await eventually(fn, { seconds, what }) calls fn until it returns without throwing, and gives its value;
//       `what` (a text, or a function that gives one) begins the message of the failure
//   await drop(page, things)   drops them on the page: absolute paths of files and folders, or { name, content }
//   makeFolder({ 'a/b.txt': 'text' }) writes a folder and gives its path; temporary() gives an empty one
//   zipOf({ 'a/b.txt': 'text' }) the bytes of a zip archive;  longText({ pages, words }) text of several pages
//   sha256(bytes)              in hex
//   const step = inOrder(() => page)  like node's test(), for tests that go on where the one before ended: once one
//       has failed the rest fails at once. QUERN_KEEP=1 leaves a picture of the page where it failed.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { removeTemporary, temporary } from './fixtures.mjs';

export * from './fixtures.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
export const bin = resolve(process.env.QUERN_BIN ?? join(root, 'build/release/bin'));
const chromium = process.env.QUERN_CHROMIUM ?? '/usr/bin/chromium';
const pollMs = 50;
const startSeconds = 60;
const endSeconds = 30;
const patienceSeconds = 60; // of eventually(); tests never assert on time, so it is generous

// --- waiting

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export async function eventually(fn, { seconds = patienceSeconds, what = '' } = {}) {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    try {
      return await fn();
    } catch (failure) {
      if (Date.now() > deadline) {
        failure.message = `${(typeof what === 'function' ? what() : what) || 'it did not come true'} (waited ${seconds} s): ${failure.message}`;
        throw failure;
      }
    }
    await sleep(pollMs);
  }
}

export function inOrder(pageNow = () => null) {
  let broken = null;
  return (name, fn) => test(name, async (context) => {
    if (broken !== null) assert.fail(`not tried, since "${broken}" failed`);
    try {
      await fn(context);
    } catch (failure) {
      broken = name;
      await keepPicture(pageNow());
      throw failure;
    }
  });
}

async function keepPicture(page) {
  if (!process.env.QUERN_KEEP || !page) return;
  const path = join(tmpdir(), `quern-web-failed-${process.pid}.png`);
  await page.screenshot({ path, timeout: 5000 }).then(() => console.log(`${page.url()} looked like ${path}`), () => {});
}

// --- the program

function freePort() {
  return new Promise((done, fail) => {
    const probe = createServer();
    probe.on('error', fail);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
}

function parentOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return -1; // gone
  }
}

function descendants(pid) {
  const parents = new Map();
  for (const name of readdirSync('/proc')) if (/^\d+$/.test(name)) parents.set(Number(name), parentOf(name));
  const found = [pid];
  for (const one of found) for (const [child, parent] of parents) if (parent === one) found.push(child);
  return found.slice(1);
}

function alive(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat[stat.lastIndexOf(')') + 2] !== 'Z';
  } catch {
    return false;
  }
}

function ownEnvironment(env) {
  const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(QUERN_|NODE_)/.test(name)));
  return { ...clean, PATH: `${bin}${delimiter}${process.env.PATH}`, ...env };
}

class Server {
  constructor({ args, data, port, env }) {
    Object.assign(this, { args, data, port, env, process: null });
    this.url = `http://127.0.0.1:${port}`;
    this.log = join(temporary(), 'server.log');
  }
  get pid() {
    return this.process?.pid;
  }

  async start() {
    assert.equal(this.process, null, 'the server runs already');
    const log = openSync(this.log, 'a');
    const args = ['serve', '--data', this.data, '--listen', `127.0.0.1:${this.port}`, ...this.args];
    const child = spawn(join(bin, 'quern'), args, { env: ownEnvironment(this.env), stdio: ['ignore', log, log] });
    this.process = child;
    this.ended = new Promise((done) => child.once('exit', done));
    child.once('error', (failure) => console.error(failure.message));
    await eventually(async () => {
      if (child.exitCode !== null) throw new Error('it ended at once');
      const answer = await fetch(`${this.url}/api/v1/session`);
      assert.notEqual(answer.status, 503);
    }, { seconds: startSeconds, what: () => `the server did not come up; its log ends with\n${this.logTail()}\n` });
    return this;
  }

  logTail() {
    return existsSync(this.log) ? readFileSync(this.log, 'utf8').split('\n').slice(-20).join('\n') : '';
  }

  async end(signal) {
    if (this.process === null) return;
    const family = [this.pid, ...descendants(this.pid)];
    this.process.kill(signal);
    await eventually(() => {
      const left = family.filter(alive);
      assert.equal(left.length, 0, `processes ${left} still run`);
    }, { seconds: endSeconds, what: `after ${signal}` });
    await this.ended;
    this.process = null;
  }
  kill() {
    return this.end('SIGKILL');
  }
  async restart() {
    await this.kill();
    await this.start();
  }
  async stop() {
    await this.end('SIGTERM');
    rmSync(this.data, { recursive: true, force: true });
  }

  async send(method, path, body, headers = {}) {
    const address = this.url + (path.startsWith('/api/') ? path : `/api/v1${path}`);
    const json = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const answer = await fetch(address, {
      method, headers: { ...json, ...headers }, body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? {} : JSON.parse(text);
  }
  get(path, headers) {
    return this.send('GET', path, undefined, headers);
  }
  post(path, body = {}, headers) {
    return this.send('POST', path, body, headers);
  }
  put(path, body = {}, headers) {
    return this.send('PUT', path, body, headers);
  }
  jobDone(id) {
    return eventually(async () => {
      const job = await this.get(`/jobs/${id}`);
      assert.notEqual(job.state, 'running');
      return job;
    }, { seconds: 180, what: `job ${id} did not end` });
  }

  rssAnon() {
    const line = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.pid}/status`, 'utf8'));
    return Number(line[1]) * 1024;
  }
}

const servers = [];
export async function startServer({ args = [], data = join(temporary('quern-data-'), 'data'), port, env = {} } = {}) {
  if (!existsSync(join(bin, 'quern'))) throw new Error(`there is no program ${bin}/quern: make build, or set QUERN_BIN`);
  const server = new Server({ args, data, port: port ?? (await freePort()), env });
  servers.push(server);
  return server.start();
}

// --- the browser

let browser = null;
export async function openBrowser() {
  if (browser !== null) return browser;
  if (!existsSync(chromium)) throw new Error(`there is no ${chromium}: scripts/setup installs it, or set QUERN_CHROMIUM`);
  const playwright = await import('playwright-core').catch(() => {
    throw new Error('web/node_modules has no playwright-core: run scripts/web modules');
  });
  browser = await playwright.chromium.launch({
    executablePath: chromium,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync'],
  });
  return browser;
}

// Called by the last test of a file, or by the end of the process.
export async function closeBrowser() {
  await browser?.close();
  browser = null;
}

// What a page says while its server is away.
const whileDown = /net::ERR_(CONNECTION|EMPTY_RESPONSE|INCOMPLETE|SOCKET|ABORTED)|status of 50[234]|EventSource/;

// pdf.js says so itself when a page is left while it still looks for words.
const viewerLeft = /Unable to get text content for page \d+ Error: Transport destroyed/;

function watch(page, server) {
  const seen = [];
  const allowed = new Set([viewerLeft]);
  let down = false;
  const note = (text) => {
    if (down && whileDown.test(text)) return;
    for (const pattern of allowed) if (pattern.test(text)) return;
    seen.push(text);
  };
  page.on('console', (message) => {
    if (message.type() === 'error') note(`console: ${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (failure) => note(`exception: ${failure.stack ?? failure.message}`));
  page.on('request', (request) => {
    const { protocol, host } = new URL(request.url());
    if (/^(https?|wss?):$/.test(protocol) && host !== new URL(server.url).host) note(`request to another host: ${request.url()}`);
  });
  page.allow = (pattern) => {
    allowed.add(pattern);
    return () => allowed.delete(pattern);
  };
  page.serverDown = async (fn) => {
    down = true;
    return fn();
  };
  page.assertClean = () => {
    assert.deepEqual(seen, [], 'the page did what it must not');
    down = false;
  };
  page.done = async () => {
    page.assertClean();
    await page.context().close();
  };
  return note;
}

export async function openPage(server, options = {}) {
  const { path = '/', viewport = { width: 1280, height: 860 }, colorScheme = 'light', reducedMotion = 'reduce', storage } = options;
  const context = await (await openBrowser()).newContext({ viewport, colorScheme, reducedMotion, baseURL: server.url, storageState: storage });
  const page = await context.newPage();
  const note = watch(page, server);
  await page.exposeFunction('__breach', (text) => note(`CSP: ${text}`));
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      window.__breach(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber} ${event.sample}`);
    });
  });
  if (path !== null) await page.goto(path);
  return page;
}

// --- what a person does

const dragsMax = 5;

// Paths go through the browser's own dragging, so that a folder is a folder. A browser that has hardly shown the page
// may swallow the drag: then the document hears of no drop, and one drags again, as a person would.
async function dropPaths(page, paths) {
  const { width, height } = page.viewportSize();
  const cdp = await page.context().newCDPSession(page);
  const data = { items: [], files: paths, dragOperationsMask: 1 };
  await page.evaluate(() => {
    window.__drops = 0;
    document.addEventListener('drop', () => ++window.__drops, { capture: true, once: true });
  });
  for (let tries = 1, heard = false; !heard; ++tries) {
    assert.ok(tries <= dragsMax, 'the browser delivers no drop');
    for (const type of ['dragEnter', 'dragOver', 'drop']) {
      await cdp.send('Input.dispatchDragEvent', { type, x: width / 2, y: height / 2, data });
    }
    for (let looks = 0; looks < 30 && !heard; ++looks) {
      heard = await page.evaluate(() => window.__drops > 0);
      if (!heard) await page.waitForTimeout(100);
    }
    if (!heard) console.log(`# drag ${tries} was swallowed`);
  }
  await cdp.detach();
}

export async function drop(page, things) {
  await page.locator('.drop').waitFor(); // before, nobody listens
  const paths = things.filter((thing) => typeof thing === 'string');
  const made = things.filter((thing) => typeof thing !== 'string');
  if (paths.length > 0) await dropPaths(page, paths);
  if (made.length === 0) return;
  const files = made.map(({ name, content, type = '' }) => ({ name, type, base64: Buffer.from(content).toString('base64') }));
  await page.evaluate((given) => {
    const dataTransfer = new DataTransfer();
    for (const { name, type, base64 } of given) {
      const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
      dataTransfer.items.add(new File([bytes], name, { type }));
    }
    const target = document.querySelector('main') ?? document.body;
    for (const kind of ['dragenter', 'dragover', 'drop']) {
      target.dispatchEvent(new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true }));
    }
  }, files);
}

// --- looking at a page

const axeSource = () => readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export async function axe(page, { exclude = [] } = {}) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(`${axeSource()};0`);
  const violations = await page.evaluate(async (without) => {
    const found = await window.axe.run({ exclude: without.map((selector) => [selector]) }, { resultTypes: ['violations'] });
    return found.violations.map(({ id, impact, help, nodes }) => ({
      id, impact, help, nodes: nodes.slice(0, 5).map(({ target, failureSummary }) => `${target.join(' ')}: ${failureSummary}`),
    }));
  }, exclude);
  const bad = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  const text = bad.map((one) => `${one.impact} ${one.id}: ${one.help}\n    ${one.nodes.join('\n    ')}`).join('\n');
  assert.equal(bad.length, 0, `axe at ${page.url()}:\n${text}`);
}

export async function noOverflow(page) {
  const wide = await page.evaluate(() => {
    const edge = window.innerWidth;
    if (document.documentElement.scrollWidth <= edge) return [];
    return [...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > edge + 1)
      .slice(0, 8).map((one) => `${one.tagName.toLowerCase()}.${one.className}`);
  });
  assert.deepEqual(wide, [], `${page.url()} is wider than the window`);
}

// Whatever a failed test left behind goes with the process.
process.on('exit', () => {
  for (const { process: child } of servers) child?.kill('SIGKILL');
  removeTemporary();
});
