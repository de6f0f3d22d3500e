// What went wrong and is tried again; and work that goes through its gates while somebody watches.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before } from 'node:test';
import { closeBrowser, drop, eventually, inOrder, longText, makeFolder, openPage, startServer, zipOf } from './support.mjs';

const whole = zipOf({ 'inner/one.txt': longText() });
const files = {
  'good.txt': 'A good file.',
  'cut one.zip': whole.subarray(0, 600),
  'cut two.zip': whole.subarray(0, 700),
  'not really.pdf': '%PDF-1.4\nthis is not one',
};

let server;
let page;
let handler;
const step = inOrder(() => page);

// A handler that holds each call until the test lets it go, and fails what it is told to fail.
function startHandler() {
  const held = new Map(); // by item
  const failing = new Set();
  const http = createServer((request, response) => {
    request.resume();
    const item = decodeURIComponent(request.headers['quern-item']);
    held.set(item, () => {
      held.delete(item);
      const answer = failing.has(item) ? { error: { message: `no stamp on ${item}`, no_retry: true } } : { done: true };
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify(answer));
    });
  });
  const release = (item) => eventually(() => {
    assert.ok(held.has(item), `the handler was not asked for ${item}, but for ${[...held.keys()]}`);
    held.get(item)();
  });
  return new Promise((done) => http.listen(0, '127.0.0.1', () => done({
    url: `http://127.0.0.1:${http.address().port}/work`, held, failing, release,
    stop: () => {
      http.closeAllConnections();
      http.close();
    },
  })));
}

before(async () => {
  server = await startServer();
  page = await openPage(server);
  handler = await startHandler();
});
after(async () => {
  await closeBrowser();
  await server?.stop();
  handler?.stop();
});

const errors = async () => (await server.get('/errors?collection=default')).items;
const newestJob = async () => (await server.get('/jobs?limit=1')).items[0];

step('damaged files are counted on the page of the import, and lead to the errors', async () => {
  await drop(page, [makeFolder(files, 'leak')]);
  await page.waitForURL(/\/jobs\/\d+$/);
  await page.getByRole('heading', { name: /^Done in / }).waitFor();
  const found = (await errors()).length;
  assert.equal(found, 3, 'three of the files are damaged');
  await page.getByRole('heading', { name: '3 errors' }).waitFor();
  await page.getByRole('link', { name: 'All errors, and what to do' }).click();
  await page.getByRole('heading', { level: 1, name: 'Errors' }).waitFor();
});

step('the errors are grouped by kind and message, as the server groups them', async () => {
  await page.getByRole('link', { name: 'Show all' }).click();
  const { items } = await server.get('/errors/groups?collection=default');
  const kinds = new Set(items.map((group) => group.kind));
  await eventually(async () => {
    assert.equal(await page.locator('.error-group').count(), items.length);
    assert.equal(await page.locator('main section.panel').count(), kinds.size);
  });
  const shown = await page.locator('.error-group .how-many').allTextContents();
  assert.equal(shown.map(Number).reduce((sum, one) => sum + one, 0), 3);
});

step('a group lists its files, and one of them tells why', async () => {
  const group = page.locator('.error-group').filter({ hasText: 'cut one.zip' });
  await group.locator('summary').click();
  await page.locator('.error-files').getByRole('link', { name: /cut one\.zip/ }).click();
  await page.getByRole('heading', { level: 1, name: 'cut one.zip' }).waitFor();
  const error = (await errors()).find((one) => one.filename.endsWith('cut one.zip'));
  const outcome = page.getByRole('region', { name: 'What became of it' });
  assert.ok((await outcome.textContent()).includes(error.message), `the page does not say: ${error.message}`);
  await outcome.getByText('How it was worked on').click();
  await outcome.getByText('Archive', { exact: false }).first().waitFor();
});

step('one is tried again from its page: a new job, and the old error is history', async () => {
  const before = (await newestJob()).job;
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.waitForURL((url) => /^\/jobs\/\d+$/.test(url.pathname) && Number(url.pathname.split('/').pop()) > before);
  await page.getByRole('heading', { level: 1, name: /^Another try/ }).waitFor();
  await page.getByRole('heading', { name: /^Done in / }).waitFor();
  const job = await newestJob();
  assert.equal(job.kind, 'retry');
  assert.equal(job.errors, 1, 'it is as damaged as before');
});

step('one is tried again from the list of errors', async () => {
  const before = (await newestJob()).job;
  await page.goto('/errors?collection=default');
  const group = page.locator('.error-group').filter({ hasText: 'not really.pdf' });
  await group.locator('summary').click();
  await page.getByRole('button', { name: /^Try again: .*not really\.pdf/ }).click();
  const link = page.getByRole('link', { name: 'tried again: see how it goes' });
  await Promise.any([link.waitFor(), page.getByText('tried again since').first().waitFor()]);
  await eventually(async () => assert.equal((await newestJob()).job, before + 1));
  await server.jobDone(before + 1);
});

step('all of a kind are tried again at once', async () => {
  await page.goto('/errors?collection=default');
  const before = (await newestJob()).job;
  const button = page.getByRole('button', { name: /^Try (all \d+ |it )again$/ }).first();
  const panel = page.locator('section.panel').filter({ has: button }).first();
  const open = Number(/\((\d+)\)/.exec(await panel.getByRole('heading').textContent())[1]);
  assert.ok(open >= 2, `only ${open} of a kind`);
  await button.click();
  await panel.getByRole('status').filter({ hasText: `${open} files are tried again.` }).waitFor();
  await eventually(async () => assert.equal((await newestJob()).job, before + open));
  for (let job = before + 1; job <= before + open; job++) assert.equal((await server.jobDone(job)).kind, 'retry');
  page.assertClean();
});

const stations = async () => (await page.getByRole('list', { name: 'Gates' }).getByRole('listitem').allTextContents())
  .map((text) => text.replace(/\s+/g, ' '));
const row = (item) => page.locator('table.items tr').filter({ has: page.getByRole('link', { name: item, exact: true }) });

step('a partition goes through its gates while one watches', async () => {
  await page.goto('/work');
  await page.getByRole('heading', { name: 'No work was given yet' }).waitFor();
  handler.failing.add('bad letter');
  for (const [item, gate] of [['sorting', 0], ['weighing', 0], ['stamping', 1], ['bad letter', 1], ['sending', 2]]) {
    await server.put(`/partitions/mail/items/${encodeURIComponent(item)}?gate=${gate}`, { item });
  }
  await server.put('/partitions/mail', { handler: handler.url, max_retries: 0, auto_close: true });
  await page.getByRole('link', { name: 'mail' }).click();
  await page.getByRole('heading', { level: 1, name: 'mail' }).waitFor();
  await eventually(async () => assert.deepEqual(await stations(), [
    '0Gate 0: open now0 of 2 done2 running', '1Gate 1: waits0 of 2 done', '2Gate 2: waits0 of 1 done',
  ]));
  await eventually(async () => assert.match(await row('sorting').textContent(), /Running/));
  await handler.release('sorting');
  await eventually(async () => assert.match((await stations())[0], /open now1 of 2 done/));
  await eventually(async () => assert.match(await row('sorting').textContent(), /Complete/));
  await eventually(async () => assert.match(await row('stamping').textContent(), /Waiting/), { what: 'nothing passes a gate early' });
  await handler.release('weighing');
  await eventually(async () => assert.match((await stations()).join(), /Gate 0: passed2 of 2 done,1Gate 1: open now/));
});

step('an item that fails stays, with its message', async () => {
  await handler.release('stamping');
  await handler.release('bad letter');
  await eventually(async () => assert.match((await stations())[1], /1 of 2 done.*1 failed/));
  await eventually(async () => assert.match(await row('bad letter').textContent(), /no stamp on bad letter.*Failed/));
  assert.equal(handler.held.has('sending'), false, 'the next gate stays shut');
  await page.getByRole('link', { name: 'Work', exact: true }).first().click();
  await page.getByRole('heading', { name: '1 item failed for good' }).waitFor();
  await page.getByText('no stamp on bad letter').waitFor();
});

step('it is put back to work from the page, and everything ends', async () => {
  handler.failing.clear();
  await page.getByRole('button', { name: 'Try again: bad letter of mail' }).click();
  await page.getByText('bad letter is back to work.').waitFor();
  await handler.release('bad letter');
  await page.getByRole('link', { name: 'mail', exact: true }).first().click();
  await handler.release('sending');
  await eventually(async () => assert.deepEqual(await stations(), [
    '0Gate 0: passed2 of 2 done', '1Gate 1: passed2 of 2 done', '2Gate 2: passed1 of 1 done',
  ]));
  await page.getByText('5 of 5 items done').waitFor();
  await page.getByText('bad letter: put back to work').waitFor();
  assert.equal((await server.get('/partitions/mail')).complete, 5);
  await page.done();
});
