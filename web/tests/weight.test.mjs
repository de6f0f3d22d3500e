// What the first load weighs, and what comes only when it is needed.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, eventually, openPage, startServer } from './support.mjs';

const firstLoadMax = 200_000; // bytes over the wire, compressed

let server;
before(async () => {
  server = await startServer();
  const answer = await fetch(`${server.url}/api/v1/collections/a/files?filename=a.txt`, { method: 'POST', body: 'a heron' });
  assert.equal(answer.status, 201);
  await eventually(async () => assert.equal((await server.get('/collections/a')).documents, 1));
});
after(async () => {
  await server.stop();
  await closeBrowser();
});

// Name and size on the wire of everything that was asked for since start(), and came.
async function watchWeight(page) {
  const loaded = new Map();
  const names = new Map();
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Network.enable');
  const kept = new Set(); // what the browser still had: nothing went over the wire
  cdp.on('Network.requestServedFromCache', ({ requestId }) => kept.add(requestId));
  cdp.on('Network.requestWillBeSent', ({ requestId, request }) => names.set(requestId, new URL(request.url).pathname));
  cdp.on('Network.responseReceived', ({ requestId, response }) => {
    if (response.fromDiskCache) kept.add(requestId);
  });
  cdp.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const name = names.get(requestId);
    if (name) loaded.set(name, kept.has(requestId) ? 0 : encodedDataLength);
  });
  const start = () => {
    names.clear(); // what the page before still loads does not count
    loaded.clear();
  };
  return { loaded, start };
}

test('the first load is light, and has neither the PDF viewer nor the uploader in it', async () => {
  const page = await openPage(server, { path: null });
  const { loaded } = await watchWeight(page);
  await page.goto('/');
  await page.getByRole('link', { name: /^a\b/ }).first().waitFor();
  const files = [...loaded].filter(([name]) => !name.startsWith('/api/'));
  const sum = files.reduce((all, [, bytes]) => all + bytes, 0);
  assert.ok(files.length >= 3, `only ${files.map(([name]) => name)} were loaded`);
  assert.ok(sum < firstLoadMax, `${sum} bytes: ${JSON.stringify(files)}`);
  assert.ok(!files.some(([name]) => /pdf|tus/.test(name)), files.map(([name]) => name).join());
  console.log(`# first load: ${sum} bytes in ${files.length} files`);
  await page.done();
});

test('the PDF viewer comes with the first document', async () => {
  const document = (await server.get('/documents?collection=a')).items[0].document;
  const page = await openPage(server, { path: null });
  const { loaded } = await watchWeight(page);
  await page.goto(`/documents/${document}`);
  await page.locator('.textLayer span').first().waitFor();
  assert.ok([...loaded.keys()].some((name) => /\/assets\/pdf_view/.test(name)), [...loaded.keys()].join());
  await page.done();
});

test('a second visit loads nothing anew but the page', async () => {
  const page = await openPage(server, { path: null });
  const { loaded, start } = await watchWeight(page);
  const visit = async () => {
    start();
    await page.goto('/');
    await page.getByRole('link', { name: /^a\b/ }).first().waitFor();
    return [...loaded].filter(([name, bytes]) => name.startsWith('/assets/') && bytes > 0).map(([name]) => name);
  };
  const first = await visit();
  assert.ok(first.some((name) => /index-.*\.js$/.test(name)), `the first one loads the script: ${first}`);
  await page.goto('about:blank');
  assert.deepEqual(await visit(), [], 'the second one takes it from the browser');
  await page.done();
});
