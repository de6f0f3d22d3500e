// A dataset is kept from the browser: asked for by the form, watched, verified, downloaded, searched; what failed is
// tried again, what runs is canceled; and what was kept is handed on as a bag.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { checkBag } from './bag_check.mjs';
import { files, startDatasets } from './dataset_site.mjs';
import { axe, bin, closeBrowser, eventually, inOrder, makeFolder, noOverflow, openPage, sha256, startServer, temporary } from './support.mjs';

let site;
let server;
let strict; // asks everybody for a token
let page;
const step = inOrder(() => page);

before(async () => {
  site = await startDatasets();
  server = await startServer({ env: site.env });
  strict = await startServer({ env: site.env, args: ['--ask-everybody'] });
  page = await openPage(server, { path: '/' });
});
after(async () => {
  site?.release();
  await closeBrowser();
  await server?.stop();
  await strict?.stop();
  await site?.stop();
});

const badge = (name) => page.locator('.heading .badge', { hasText: name });
const rowOf = (name) => page.locator('.dataset-files tbody tr', { hasText: name });
const open = (name, more = {}) => server.post('/filesets', { url: site.url(name), collection: 'rescue', ...more });

step('a page without datasets teaches what one is', async () => {
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Datasets' }).click();
  await page.getByRole('heading', { name: 'No dataset was asked for yet' }).waitFor();
  await page.getByText(/quern dataset 10\./).waitFor();
  await axe(page);
  await noOverflow(page);
});

step('what is wrong in the form is said where it belongs', async () => {
  const box = page.getByLabel('DOI or address');
  await page.getByRole('button', { name: 'Keep it' }).click();
  await page.getByText('Paste a DOI').waitFor();
  await eventually(async () => assert.equal(await box.evaluate((one) => one === document.activeElement), true));
  const forget = page.allow(/status of 400/);
  await box.fill('no address at all');
  await page.keyboard.press('Enter');
  await page.locator('#dataset-url-wrong').filter({ hasText: /address/ }).waitFor();
  assert.match(await box.getAttribute('aria-describedby'), /dataset-url-wrong/);
  await box.fill(site.url('good'));
  await page.getByLabel('Into the collection').fill('no/such name');
  await page.keyboard.press('Enter');
  await page.locator('#dataset-collection-wrong').waitFor();
  // It fades while it is busy.
  const button = page.getByRole('button', { name: 'Keep it' });
  await eventually(async () => assert.equal(await button.evaluate((one) => getComputedStyle(one).opacity), '1'));
  await axe(page);
  forget();
});

step('a dataset is asked for by the keyboard alone', async () => {
  await page.reload();
  await page.getByLabel('DOI or address').focus();
  await page.keyboard.type(site.url('good'));
  await page.keyboard.press('Tab');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('rescue');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Space');
  assert.equal(await page.getByLabel('Make its files searchable').isChecked(), true);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/datasets\/\d+$/);
  await page.getByRole('heading', { level: 1, name: 'museum.test/page/good' }).waitFor();
});

step('one watches it until every file is kept and verified', async () => {
  await badge('Kept').waitFor({ timeout: 120_000 });
  await page.getByRole('heading', { name: '3 files' }).waitFor();
  for (const name of Object.keys(files)) {
    await rowOf(name).locator('.badge', { hasText: 'Kept' }).waitFor();
    await rowOf(name).locator('summary').click();
    await rowOf(name).getByText(sha256(files[name])).waitFor();
  }
  await page.getByText('3 files kept and verified').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Cancel' }).count(), 0);
  assert.equal(await page.getByRole('button', { name: 'Try again' }).count(), 0);
  await axe(page);
  await noOverflow(page);
  page.assertClean();
});

step('a file is downloaded as it was, and its capture is seen', async () => {
  const [download] = await Promise.all([page.waitForEvent('download'), rowOf('notes.txt').getByRole('link', { name: 'Download' }).click()]);
  assert.equal(download.suggestedFilename(), 'notes.txt');
  assert.equal(readFileSync(await download.path(), 'utf8'), files['notes.txt']);
  await rowOf('notes.txt').getByRole('link', { name: 'Capture' }).click();
  await page.getByRole('heading', { name: '1 capture' }).waitFor();
  await page.locator('.capture .asked', { hasText: 'http://museum.test/good/notes.txt' }).waitFor();
  await page.goBack();
  page.assertClean();
});

step('the result is there for programs', async () => {
  await page.getByText('The result, for programs').click();
  const result = JSON.parse(await page.getByLabel('Result').textContent());
  assert.equal(result.hit, true);
  assert.equal(result.file_count, 3);
  assert.deepEqual(result.manifest.map(({ path }) => path).sort(), Object.keys(files).sort());
  await axe(page);
});

step('its files are searched', async () => {
  await eventually(async () => assert.equal((await server.get('/search?q=Kraanvogel')).total, 1));
  await page.goto('/search?q=Kraanvogel');
  await page.locator('.hit').waitFor();
  assert.match(await page.locator('.hit').textContent(), /notes\.txt/);
});

step('what failed says why, and is tried again; what was kept is not fetched twice', async () => {
  const { job } = await open('bad');
  await page.goto(`/datasets/${job}`);
  await badge('Of another size than was said').waitFor({ timeout: 120_000 });
  await rowOf('table.csv').locator('.badge', { hasText: 'Kept' }).waitFor();
  await rowOf('notes.txt').locator('.badge', { hasText: 'Of another size' }).waitFor();
  await page.getByText('The file has changed, or the manifest is wrong').waitFor();
  await axe(page);
  const before = site.asked('/bad/table.csv');
  site.mend();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.waitForURL((url) => !url.pathname.endsWith(`/${job}`));
  await badge('Kept').waitFor({ timeout: 120_000 });
  await page.getByRole('link', { name: `dataset ${job}` }).waitFor();
  assert.equal(site.asked('/bad/table.csv'), before);
  page.assertClean();
});

step('a page that has no dataset is told to be none', async () => {
  const { job } = await open('none');
  await page.goto(`/datasets/${job}`);
  await badge('No platform that is known').waitFor({ timeout: 120_000 });
  await page.getByText('Give the address of one of its files').waitFor();
  await axe(page);
});

step('one that runs is canceled, after a question', async () => {
  const { job } = await open('slow');
  await page.goto(`/datasets/${job}`);
  await badge('Running').waitFor();
  await eventually(async () => assert.equal(site.asked('/slow/table.csv'), 1));
  await page.getByRole('progressbar', { name: 'Progress' }).waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').getByText('Cancel this dataset?').waitFor();
  await axe(page);
  await page.getByRole('button', { name: 'Cancel the dataset' }).click();
  site.release();
  await badge('Canceled').waitFor({ timeout: 120_000 });
});

step('the list has all of them', async () => {
  await page.goto('/datasets');
  const rows = page.locator('.job-row');
  await eventually(async () => assert.equal(await rows.count(), 5));
  const texts = (await rows.allTextContents()).join('\n');
  assert.match(texts, /museum\.test\/page\/good.*3 files.*Kept/);
  assert.match(texts, /museum\.test\/page\/none.*No platform/);
  assert.match(texts, /museum\.test\/page\/slow.*Canceled/);
  await axe(page);
  await noOverflow(page);
  await page.done();
});

step('what was kept is handed on as a bag that is valid', async () => {
  const folder = makeFolder({ 'letters/monday.txt': 'Dear all', 'letters/50%.txt': 'half' });
  execFileSync(join(bin, 'quern'), ['add', join(folder, 'letters'), '--collection', 'rescue', '--server', server.url], { stdio: 'pipe' });
  const out = join(temporary(), 'bag');
  const said = execFileSync(join(bin, 'quern'), ['export', 'rescue', '--format', 'bagit', '--out', out, '--json', '--server', server.url], { encoding: 'utf8' });
  const line = JSON.parse(said);
  assert.equal(line.datasets, 4);
  const bag = checkBag(out);
  assert.deepEqual(bag.problems, []);
  for (const [name, text] of Object.entries(files)) {
    assert.equal(readFileSync(join(out, 'data/datasets/schemaorg-levels-good', name), 'utf8'), text);
  }
  assert.equal(readFileSync(join(out, 'data/files/letters/monday.txt'), 'utf8'), 'Dear all');
  assert.equal(readFileSync(join(out, 'data/files/letters/50%.txt'), 'utf8'), 'half');
  assert.ok(bag.info.some(([label, value]) => label === 'External-Identifier' && value === 'levels-good'));
  assert.ok(bag.tags.some((path) => /^provenance\/dataset-\d+\.cdxj$/.test(path)));
  const plain = join(temporary(), 'plain');
  execFileSync(join(bin, 'quern'), ['export', 'rescue', '--format', 'folder', '--out', plain, '--server', server.url]);
  assert.equal(readFileSync(join(plain, 'datasets/schemaorg-levels-good/table.csv'), 'utf8'), files['table.csv']);
  mkdirSync(join(plain, 'more'));
  assert.throws(() => execFileSync(join(bin, 'quern'), ['export', 'rescue', '--format', 'folder', '--out', plain, '--server', server.url], { stdio: 'pipe' }), /is there already/);
});

const tokenFor = (...args) => execFileSync(join(bin, 'quern'), ['token', 'create', '--data', strict.data, ...args], { encoding: 'utf8' }).trim();

step('who may only read sees datasets of their collection, and asks for none', async () => {
  const bearer = { Authorization: `Bearer ${tokenFor('--role', 'admin')}` };
  const jobs = {};
  for (const collection of ['other', 'rescue']) {
    jobs[collection] = (await strict.post('/filesets', { url: site.url('good'), collection }, bearer)).job;
    await eventually(async () => assert.equal((await strict.get(`/filesets/${jobs[collection]}`, bearer)).state, 'done'));
  }
  page = await openPage(strict, { path: null });
  page.allow(/status of 40[134]/);
  await page.goto('/datasets');
  await page.getByLabel('Token').fill(tokenFor('--role', 'reader', '--collection', 'rescue'));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.job-row').waitFor();
  assert.equal(await page.locator('.job-row').count(), 1, 'a dataset of another collection is shown');
  assert.equal(await page.locator('.dataset-form').count(), 0);
  await page.locator('.job-row').getByRole('link', { name: 'museum.test/page/good' }).click();
  await rowOf('notes.txt').getByRole('link', { name: 'Download' }).waitFor();
  const status = (job) => page.evaluate(async (path) => (await fetch(path)).status, `/api/v1/filesets/${job}/files/0/blob`);
  assert.equal(await status(jobs.rescue), 200);
  assert.ok([403, 404].includes(await status(jobs.other)), 'bytes of another collection are given out');
  await page.done();
});
