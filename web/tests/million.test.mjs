// Lists of a million: they open and scroll at once, because what cannot be seen is neither asked for nor drawn.
// Counted are requests and elements, not time. The million is written into the database: adding it would take an hour.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { closeBrowser, eventually, openPage, sleep, startServer, temporary, zipOf } from './support.mjs';

const many = 1_000_000;
const requestsMax = 3; // for what comes into view at one leap
const elementsMax = 1500; // of the whole page

let server;
let root;

// Children of the archive like the one document that is there, with names and places of their own.
function multiply(database, archive) {
  const sql = (text) => execFileSync('sqlite3', ['-batch', database], { input: `PRAGMA synchronous = OFF;\n${text}\n`, encoding: 'utf8' });
  const columns = sql("SELECT name FROM pragma_table_info('file');").trim().split('\n').filter((name) => !['0', 'id'].includes(name));
  const own = {
    root: `${archive}`, parent: `${archive}`, index_in_parent: 'i', depth: '1', position: "printf('x%08d', i)",
    filename: "printf('many.zip/%07d.txt', i)", blob: 'blob', thumbnail: 'NULL',
  };
  sql(`BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${many - 1})
INSERT INTO file (${columns.join(', ')})
SELECT ${columns.map((name) => own[name] ?? name).join(', ')} FROM n, (SELECT * FROM file WHERE class = 1 LIMIT 1);
UPDATE file SET n_children = n_children + ${many - 1}, n_ingested_children = n_ingested_children + ${many - 1} WHERE id = ${archive};
UPDATE shard SET files = files + ${many - 1}, documents = documents + ${many - 1};
COMMIT;`);
}

before(async () => {
  const data = join(temporary('quern-data-'), 'data');
  server = await startServer({ data });
  const answer = await fetch(`${server.url}/api/v1/collections/many/files?filename=many.zip`, { method: 'POST', body: zipOf({ '0000000.txt': 'one of many' }) });
  assert.equal(answer.status, 201);
  await eventually(async () => assert.equal((await server.get('/collections/many')).documents, 1));
  await eventually(async () => assert.equal((await server.get('/search?q=many&collection=many')).total, 1));
  root = (await server.get('/files?collection=many')).items.find((one) => one.parent === null).file;
  await server.end('SIGTERM');
  multiply(join(data, 'quern.db'), root);
  await server.start();
});
after(async () => {
  await server.stop();
  await closeBrowser();
});

// Requests for rows since the last time.
function countRequests(page, pattern) {
  let asked = 0;
  page.on('request', (request) => {
    if (pattern.test(request.url())) asked += 1;
  });
  return () => {
    const since = asked;
    asked = 0;
    return since;
  };
}

const elements = (page) => page.evaluate(() => document.querySelectorAll('*').length);
const rows = (page) => page.locator('.virtual-row').evaluateAll((all) => all.map((one) => one.textContent));

async function scrollTo(page, share) {
  await page.locator('.virtual').evaluate((box, at) => {
    box.scrollTop = at * (box.scrollHeight - box.clientHeight);
  }, share);
}

async function tour(page, asked, name) {
  await eventually(async () => assert.match((await rows(page)).join(), name(0)));
  assert.ok(asked() <= requestsMax, 'requests for the first sight');
  assert.ok((await elements(page)) < elementsMax, `${await elements(page)} elements`);
  for (const share of [0.5, 0.25, 1]) {
    await scrollTo(page, share);
    const about = Math.round(share * (many - 1));
    await eventually(async () => {
      const seen = (await rows(page)).join();
      const number = Number(/(\d{7})\.txt/.exec(seen)?.[1] ?? -1);
      assert.ok(Math.abs(number - about) < 60, `saw ${number}, wanted about ${about}`);
    });
    assert.ok(asked() <= requestsMax, `requests for a leap to ${share}`);
    assert.ok((await elements(page)) < elementsMax, `${await elements(page)} elements at ${share}`);
  }
  assert.match((await rows(page)).join(), name(many - 1), 'the very last one is there');
}

test('a million documents of a collection', async () => {
  const page = await openPage(server, { path: null });
  const asked = countRequests(page, /\/api\/v1\/documents/);
  await page.goto('/collections/many');
  await page.locator('.virtual').scrollIntoViewIfNeeded();
  await tour(page, asked, (number) => new RegExp(`${String(number).padStart(7, '0')}\\.txt`));
  await page.done();
});

test('a million children of an archive, by wheel and keys too', async () => {
  const page = await openPage(server, { path: null });
  const asked = countRequests(page, /\/children/);
  await page.goto(`/files/${root}`);
  await page.locator('.virtual').scrollIntoViewIfNeeded();
  await tour(page, asked, (number) => new RegExp(`${String(number).padStart(7, '0')}\\.txt`));

  await scrollTo(page, 0);
  await eventually(async () => assert.match((await rows(page)).join(), /0000000\.txt/));
  await page.locator('.virtual').hover();
  for (let turn = 0; turn < 5; ++turn) {
    await page.mouse.wheel(0, 120);
    await sleep(30);
  }
  await eventually(async () => {
    const top = Number(/(\d{7})\.txt/.exec((await rows(page)).join())?.[1]);
    assert.ok(top < 40, `five turns of the wheel went to ${top}`);
  });

  await page.locator('.virtual-row a', { hasText: '0000020.txt' }).focus();
  await page.keyboard.press('End');
  await eventually(async () => {
    const focused = await page.evaluate(() => document.activeElement.closest('.virtual-row')?.textContent ?? '');
    assert.match(focused, /0999999\.txt/);
  });
  await page.keyboard.press('ArrowUp');
  await eventually(async () => {
    const focused = await page.evaluate(() => document.activeElement.closest('.virtual-row')?.textContent ?? '');
    assert.match(focused, /0999998\.txt/);
  });
  await page.done();
});
