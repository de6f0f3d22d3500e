// A large file through the browser: the server is killed, the page is reloaded, and no byte that had arrived is sent
// again; the server's memory stays flat.
import assert from 'node:assert/strict';
import { createHash, randomFillSync } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { closeBrowser, eventually, openPage, startServer, temporary } from './support.mjs';

const MiB = 1024 * 1024;
const fileBytes = Number(process.env.QUERN_UPLOAD_MIB ?? 200) * MiB;
const uploadBytesPerSecond = Number(process.env.QUERN_UPLOAD_RATE_MIB ?? 50) * MiB; // slow enough to be caught in the middle
const memoryGrowthMax = 48 * MiB;
const lostMax = 32 * MiB; // of a PATCH when the server dies; docs/http-api.md, "Uploads"

let server;
let path;
let sum;
let peak = 0;
let sampler;

before(async () => {
  path = join(temporary(), 'large.bin');
  const piece = Buffer.alloc(4 * MiB);
  const hash = createHash('sha256');
  const file = openSync(path, 'w');
  for (let at = 0; at < fileBytes; at += piece.length) {
    randomFillSync(piece);
    hash.update(piece);
    writeSync(file, piece);
  }
  closeSync(file);
  sum = hash.digest('hex');
  server = await startServer();
});
after(async () => {
  clearInterval(sampler);
  await server.stop();
  await closeBrowser();
});

function sampleMemory() {
  const base = server.rssAnon();
  peak = base;
  sampler = setInterval(() => {
    try {
      peak = Math.max(peak, server.rssAnon());
    } catch {
      // It is being restarted.
    }
  }, 50);
  return base;
}

async function choose(page) {
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Choose files' }).click();
  await (await chooser).setFiles(path);
}

async function slow(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Network.enable');
  await cdp.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: uploadBytesPerSecond });
}

// Where each PATCH began, as the browser said it.
function watchOffsets(page) {
  const offsets = [];
  page.on('request', (request) => {
    if (request.method() === 'PATCH') offsets.push(Number(request.headers()['upload-offset']));
  });
  return offsets;
}

async function arrived() {
  const root = (await server.get('/jobs?limit=1')).items[0];
  const upload = uploadUrl ? await server.get(uploadUrl) : null;
  return { job: root.job, offset: upload?.offset ?? 0 };
}
let uploadUrl = '';

test('it goes on after the server was killed, and after the page was reloaded', async () => {
  const base = sampleMemory();
  const page = await openPage(server);
  page.on('response', (response) => {
    if (response.request().method() === 'POST' && response.url().endsWith('/api/v1/uploads')) uploadUrl = response.headers().location;
  });
  page.on('dialog', (dialog) => dialog.accept()); // "leave this page?"
  const offsets = watchOffsets(page);
  await slow(page);
  await choose(page);
  await page.waitForURL(/\/jobs\/\d+$/);

  await eventually(async () => assert.ok((await arrived()).offset > fileBytes * 0.15), { seconds: 120 });
  const before = (await arrived()).offset;
  const begun = offsets.length; // pieces: a large file has several
  await page.serverDown(() => server.restart());
  await eventually(() => assert.ok(offsets.length > begun, 'it sends again'), { seconds: 60 });
  assert.ok(offsets[begun] >= before - lostMax && offsets[begun] > 0, `went on at ${offsets[begun]}, ${before} had arrived`);

  await eventually(async () => assert.ok((await arrived()).offset > fileBytes * 0.5), { seconds: 120 });
  const sent = offsets.length;
  await page.serverDown(() => page.goto('/'));
  await page.getByText(/was cut\s+off/).waitFor();
  await eventually(async () => {
    const { offset } = await arrived();
    assert.ok(offset > fileBytes * 0.5);
  });
  await choose(page);
  await page.waitForURL(/\/jobs\/\d+$/);
  await eventually(() => assert.ok(offsets.length > sent));
  assert.ok(offsets[sent] > fileBytes * 0.4, `after the reload it went on at ${offsets[sent]}`);
  await page.getByText('All files have arrived').waitFor({ timeout: 300_000 });

  const { job } = await arrived();
  await server.jobDone(job);
  const jobs = (await server.get('/jobs')).items;
  assert.equal(jobs.length, 1, 'one import, whatever happened');
  const roots = (await server.get(`/jobs/${job}/roots`)).items;
  assert.equal(roots.length, 1);
  assert.equal(roots[0].bytes, fileBytes);
  const growth = peak - base;
  assert.ok(growth < memoryGrowthMax, `the server's memory grew by ${Math.round(growth / MiB)} MiB`);
  console.log(`# ${fileBytes / MiB} MiB; PATCHes began at ${offsets.map((at) => Math.round(at / MiB)).join(', ')} MiB; memory grew by ${Math.round(growth / MiB)} MiB`);
  await page.done();
});

test('what is stored is what was sent', async () => {
  const file = (await server.get('/files?collection=default')).items.find((one) => one.parent === null);
  const answer = await fetch(`${server.url}/api/v1/files/${file.file}/blob`);
  const hash = createHash('sha256');
  for await (const piece of answer.body) hash.update(piece);
  assert.equal(hash.digest('hex'), sum);
});
