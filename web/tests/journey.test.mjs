// A person's whole way: drop a folder and an archive, watch them become documents while the server dies and
// comes back, search, read at the hit, walk the tree, take the original home.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { closeBrowser, drop, eventually, inOrder, longText, makeFolder, openPage, sha256, startServer, temporary, zipOf } from './support.mjs';

const notes = 150;
const zipped = { 'boats/barge.txt': 'The barge lay at the old mole.', 'boats/Fähre.txt': 'A ferry called Zwaluw.', 'page.html': '<h1>Harbour</h1><p>The Zwaluw again.</p>' };
const files = {
  '.hidden': 'A hidden file tells of the osprey.',
  'Ünïcödé/Łódź – 報告.txt': 'A report on the Zwaluw from Łódź.',
  'deep/er/still/bottom.txt': 'At the very bottom lies the anchor.',
  'long.txt': longText({ pages: 6, words: { 3: 'the kingfisher was seen', 5: 'and the Kingfisher came again' } }),
};
for (let n = 0; n < notes; n++) files[`notes/note ${String(n).padStart(3, '0')}.txt`] = `Note ${n}: the river, and the word tally${n}.`;

const roots = Object.keys(files).length + 1; // and the archive
const documents = Object.keys(files).length + Object.keys(zipped).length;

const step = inOrder(() => page);
let server;
let page;
let folder;
let job;

before(async () => {
  server = await startServer();
  page = await openPage(server);
  folder = makeFolder(files, 'leak');
});
after(async () => {
  await closeBrowser();
  await server?.stop();
});

const running = () => page.getByRole('progressbar', { name: 'Progress of this import' });
const box = () => page.getByRole('searchbox', { name: /^Search / });
const hits = () => page.getByRole('list', { name: 'Documents', exact: true }).getByRole('listitem');

step('a folder and an archive that are dropped become an import', async () => {
  const zip = join(temporary(), 'pile.zip');
  writeFileSync(zip, zipOf(zipped));
  await page.getByRole('heading', { name: 'Welcome to Quern' }).waitFor();
  await drop(page, [folder, zip]);
  await page.waitForURL(/\/jobs\/\d+$/);
  job = Number(page.url().split('/').pop());
  await running().waitFor();
});

step('the server dies in the middle, and the page goes on by itself', async () => {
  await page.evaluate(() => void (window.sameDocument = true));
  await eventually(async () => assert.ok((await server.get(`/jobs/${job}`)).documents >= 10));
  await page.serverDown(async () => {
    await server.kill();
    await page.getByText('The server does not answer. Nothing is lost').waitFor();
    await server.start();
    const { state, files_done } = await server.get(`/jobs/${job}`);
    assert.equal(state, 'running', `the import was over (${files_done} files) when the server died: give it more`);
    await page.getByRole('heading', { name: /^Done in / }).waitFor({ timeout: 180_000 });
    await page.getByText('The server does not answer').first().waitFor({ state: 'hidden' });
  });
  assert.equal(await page.evaluate(() => window.sameDocument), true, 'the page was loaded anew');
  page.assertClean();
});

// The rows of the table of outcomes: its names, and its numbers.
async function outcomes() {
  const rows = page.getByRole('table', { name: 'What became of the files' }).locator('tbody tr');
  return Object.fromEntries(await rows.evaluateAll((all) =>
    all.map((row) => [row.cells[0].textContent.trim(), Number(row.cells[1].textContent.replace(/\D/g, ''))])));
}

step('what the pages count is what the ledger has, and what was dropped', async () => {
  const ledger = await server.get('/collections/default');
  assert.equal(ledger.roots, roots);
  assert.equal(ledger.documents, documents);
  assert.equal(ledger.errors, 0);
  assert.equal(ledger.in_progress, 0);
  await page.getByRole('heading', { name: `${documents} documents from ${roots} files` }).waitFor();
  await page.getByText('it balances.').waitFor();
  const all = {
    Documents: ledger.documents, Containers: ledger.containers, Converted: ledger.converted, Empty: ledger.empty,
    Errors: 0, 'In progress': 0,
  };
  assert.deepEqual(await outcomes(), all);
  await page.getByRole('main').getByRole('link', { name: 'default', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'default' }).waitFor();
  await page.getByText('it balances.').waitFor();
  assert.deepEqual(await outcomes(), all);
  await page.goBack();
});

step('nothing that was sent is listed as being sent', async () => {
  await page.getByText('All files have arrived.').waitFor();
  await page.getByRole('region', { name: 'Uploads' }).getByRole('button', { name: 'Close' }).click();
  await page.getByRole('region', { name: 'Uploads' }).waitFor({ state: 'detached' });
  assert.deepEqual(await page.evaluate(() => JSON.parse(localStorage.getItem('quern.uploads'))), []);
});

step('searching answers as one types, with marked words', async () => {
  await page.getByRole('link', { name: 'Search it' }).click();
  await box().pressSequentially('zwal');
  await eventually(async () => assert.equal(await hits().count(), 3));
  assert.match(page.url(), /[?&]q=zwal(&|$)/);
  await eventually(async () => {
    const marked = await page.locator('.snippet mark').allTextContents();
    assert.deepEqual(marked, ['Zwaluw', 'Zwaluw', 'Zwaluw']);
  });
});

step('a facet narrows the search, and widens it again', async () => {
  const facet = page.getByRole('group', { name: 'Type' }).getByRole('checkbox').first();
  await box().fill('zwaluw');
  await eventually(async () => assert.equal(await hits().count(), 3));
  const named = await page.getByRole('group', { name: 'Type' }).getByRole('checkbox').count();
  assert.equal(named, 2, 'texts and a web page');
  // A box follows the address, which changes a moment after the click.
  await facet.click();
  await eventually(async () => assert.equal(await hits().count(), 2));
  assert.match(page.url(), /type%3A|type:/);
  await eventually(async () => assert.equal(await facet.isChecked(), true));
  await facet.click();
  await eventually(async () => assert.equal(await hits().count(), 3));
});

step('a hit opens at its page, with the word highlighted', async () => {
  await box().fill('kingfisher');
  await eventually(async () => assert.equal(await hits().count(), 1));
  await hits().first().getByRole('link').click();
  await page.waitForURL(/\/documents\/\d+\?/);
  const marked = page.locator('.page[data-page-number="3"] .textLayer .highlight');
  await marked.first().waitFor();
  assert.match((await marked.allTextContents()).join(''), /^kingfisher$/i);
  await eventually(async () => assert.equal(await currentPage(), '3'));
  await eventually(async () => assert.ok(await inView(marked.first()), 'the word is not in view'));
});

async function inView(locator) {
  return locator.evaluate((element) => {
    const { top, bottom } = element.getBoundingClientRect();
    const frame = element.closest('.pdf-container').getBoundingClientRect();
    return top >= frame.top && bottom <= frame.bottom;
  });
}

const matches = () => page.locator('[data-test=matches]').textContent();
const currentPage = () => page.getByRole('textbox', { name: /^Page of/ }).inputValue();

step('next and previous go from hit to hit within the document', async () => {
  await eventually(async () => assert.match(await matches(), /^1 of 2$/));
  const first = await currentPage();
  await page.getByRole('button', { name: 'Next hit' }).click();
  await eventually(async () => assert.match(await matches(), /^2 of 2$/));
  await eventually(async () => assert.ok(Number(await currentPage()) > Number(first)));
  await page.getByRole('button', { name: 'Previous hit' }).click();
  await eventually(async () => assert.match(await matches(), /^1 of 2$/));
  await eventually(async () => assert.equal(await currentPage(), first));
});

step('the text of it has the words marked', async () => {
  await page.getByRole('button', { name: 'Text', exact: true }).click();
  const marks = page.getByRole('region', { name: 'Text' }).locator('mark');
  await eventually(async () => assert.deepEqual(await marks.allTextContents(), ['kingfisher', 'Kingfisher']));
  page.assertClean();
});

step('the path of a document leads to the archive that it was in', async () => {
  await page.goto('/search?q=mole');
  await hits().first().getByRole('link').click();
  const crumbs = page.getByRole('navigation', { name: 'Where it came from' });
  const names = async () => (await crumbs.getByRole('listitem').allTextContents()).map((text) => text.trim());
  await eventually(async () => assert.deepEqual(await names(), ['default', 'pile.zip', 'barge.txt']));
  await crumbs.getByRole('link', { name: 'pile.zip' }).click();
  await page.getByRole('heading', { level: 1, name: 'pile.zip' }).waitFor();
});

step('the tree is walked from the import into the archive', async () => {
  await page.goto(`/jobs/${job}`);
  await page.getByRole('link', { name: 'Browse files' }).click();
  await page.getByRole('heading', { level: 1, name: /^Files of/ }).waitFor();
  const list = page.locator('.virtual');
  await eventually(async () => {
    await list.evaluate((box) => box.scrollTo(0, box.scrollHeight));
    assert.ok(await page.getByRole('link', { name: /pile\.zip/ }).count() > 0);
  });
  await page.getByRole('link', { name: /pile\.zip/ }).click();
  await page.getByRole('heading', { level: 1, name: 'pile.zip' }).waitFor();
  await page.getByRole('heading', { name: '3 files in it' }).waitFor();
  await page.getByRole('link', { name: /Fähre\.txt/ }).click();
  await page.getByRole('heading', { level: 1, name: 'Fähre.txt' }).waitFor();
  await page.keyboard.press('u');
  await page.getByRole('heading', { level: 1, name: 'pile.zip' }).waitFor();
});

step('an original comes back byte for byte, under its own name', async () => {
  const name = 'Łódź – 報告.txt';
  await page.goto('/search?q=report');
  await hits().first().getByRole('link').click();
  await page.getByRole('heading', { level: 1 }).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Original' }).click(),
  ]);
  assert.equal(download.suggestedFilename(), name);
  assert.equal(sha256(readFileSync(await download.path())), sha256(Buffer.from(files[`Ünïcödé/${name}`])));
  await page.done();
});
