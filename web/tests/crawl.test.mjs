// A site is brought in from the browser: begun by the form, watched, searched, read; its captures are seen and cannot
// do anything; and the page says why an address is not there.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { startSite } from './site.mjs';
import { axe, bin, closeBrowser, eventually, inOrder, noOverflow, openPage, startServer } from './support.mjs';

const pages = 40;
const shout = "parent.postMessage('owned', '*'); document.body.append('scriptran'); window.__owned = 'yes'";
const hostile = `<!doctype html><html><head><title>Hostile</title><meta http-equiv="refresh" content="0;url=http://evil.test/">
<script>${shout}</script></head><body onload="${shout}"><h1>vexillum</h1><img src="http://evil.test/x.png" onerror="${shout}">
<form action="http://evil.test/"><button>Send it</button></form><a href="javascript:${shout}" target="_top">Press me</a>
<svg onload="${shout}"></svg><iframe src="javascript:${shout}"></iframe></body></html>`;

let site;
let server;
let strict; // asks everybody for a token
let page;
const step = inOrder(() => page);

before(async () => {
  site = await startSite({ 'hostile.test': (path) => (path === '/' ? { body: hostile } : null) });
  await site.set('plain.test', 'pages', pages);
  await site.set('robots.test', 'crawl_delay', '0.02');
  server = await startServer({ env: site.env });
  strict = await startServer({ env: site.env, args: ['--ask-everybody'] });
  page = await openPage(server, { path: '/' });
});
after(async () => {
  await closeBrowser();
  await server?.stop();
  await strict?.stop();
  await site?.stop();
});

const crawlOf = async (url, more = {}) => {
  const { job } = await server.post('/crawls', { urls: [url], collection: 'town', delay: 0.01, ...more });
  return job;
};
const badge = (name) => page.locator('.heading .badge', { hasText: name });
const numbers = async () => Object.fromEntries(await page.locator('.crawl-counts > div').evaluateAll((all) =>
  all.map((one) => [one.querySelector('dt').textContent, one.querySelector('dd').textContent])));
const searched = (q, total) => eventually(async () => assert.equal((await server.get(`/search?q=${q}`)).total, total));

step('a page without crawls teaches what one is', async () => {
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Crawls' }).click();
  await page.getByRole('heading', { name: 'No site was crawled yet' }).waitFor();
  await page.getByText('robots.txt', { exact: true }).waitFor();
  await page.getByText(/quern crawl https:/).waitFor();
  await axe(page);
});

step('what is wrong in the form is said where it belongs', async () => {
  const box = page.getByLabel('Address', { exact: true });
  await page.getByRole('button', { name: 'Begin the crawl' }).click();
  await page.getByText('Write the address of a site').waitFor();
  await eventually(async () => assert.equal(await box.evaluate((one) => one === document.activeElement), true));
  const forget = page.allow(/status of 400/);
  await box.fill('ftp://plain.test/');
  await page.keyboard.press('Enter');
  await page.locator('#crawl-urls-wrong').filter({ hasText: 'is no address of the web' }).waitFor();
  assert.match(await box.getAttribute('aria-describedby'), /crawl-urls-wrong/);
  await box.fill('http://plain.test/');
  await page.getByLabel('Into the collection').fill('no/such name');
  await page.keyboard.press('Enter');
  await page.locator('#crawl-collection-wrong').waitFor();
  await page.getByText('More choices').click();
  await page.getByLabel('Pages at most').fill('many');
  await page.getByLabel('Pages at most').press('Enter');
  await page.locator('#crawl-pages-wrong').waitFor();
  await axe(page);
  forget();
});

step('a crawl is begun by the keyboard alone', async () => {
  await page.reload();
  await page.getByLabel('Address', { exact: true }).focus();
  await page.keyboard.type('http://plain.test/');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('town');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter'); // opens more choices
  for (let i = 0; i < 3; ++i) await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.name), 'delay');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('0.01');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/crawls\/\d+$/);
  await page.getByRole('heading', { level: 1, name: 'Crawl of plain.test' }).waitFor();
});

step('one watches it until it has ended', async () => {
  await badge('Done').waitFor({ timeout: 120_000 });
  await eventually(async () => {
    const now = await numbers();
    assert.deepEqual([now['pages known'], now.in, now.open], [String(pages), String(pages), '0'], JSON.stringify(now));
  });
  const row = page.locator('table.sites tbody tr');
  assert.equal(await row.count(), 1);
  await eventually(async () => assert.match(await row.textContent(), /plain\.test.*40/));
  await eventually(async () => assert.equal(await page.locator('.crawl-pages tbody tr').count(), pages));
  assert.equal(await page.getByRole('button', { name: 'Cancel' }).count(), 0);
  await axe(page);
  await noOverflow(page);
  page.assertClean();
});

step('its page and the list of crawls say the same, and the import leads back', async () => {
  await page.getByRole('link', { name: 'Files and steps' }).click();
  await page.getByRole('heading', { level: 1, name: 'Crawl of plain.test' }).waitFor();
  await page.getByRole('link', { name: 'Sites and pages' }).click();
  await page.waitForURL(/\/crawls\/\d+$/);
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Crawls' }).click();
  const row = page.locator('.job-row');
  await row.waitFor();
  assert.match(await row.textContent(), /plain\.test.*40 pages: 40 in, 0 out.*Done/);
  await axe(page);
});

step('a page is found, with its address, and read as text', async () => {
  await searched('word17', 1);
  await page.goto('/search?q=word17');
  const hit = page.locator('.hit');
  await hit.waitFor();
  assert.match(await hit.textContent(), /http:\/\/plain\.test\/s0\/p17/);
  await hit.getByRole('link').click();
  await page.getByRole('heading', { level: 1, name: 'Page 17' }).waitFor();
  await page.locator('.text mark', { hasText: 'word17' }).first().waitFor();
  assert.equal(await page.locator('.pdf').count(), 0, 'a viewer that has nothing to show');
  await page.getByRole('navigation', { name: 'Where it came from' }).getByText('http://plain.test/s0/p17').waitFor();
  await axe(page);
  page.assertClean();
});

step('the same page is shown on paper when somebody wants that, and then as text again', async () => {
  await page.getByRole('group', { name: 'Show as' }).getByRole('button', { name: 'Pages' }).click();
  await page.locator('.pdf .textLayer', { hasText: 'word17' }).first().waitFor({ timeout: 60_000 });
  assert.match(page.url(), /view=pages/);
  await axe(page);
  await page.reload();
  await page.locator('.pdf .textLayer .highlight', { hasText: 'word17' }).first().waitFor();
  const [, document] = page.url().match(/documents\/(\d+)/);
  const details = await server.get(`/files/${document}`);
  assert.equal(details.content_type, 'text/html', 'nothing of the document has changed');
  await page.getByRole('group', { name: 'Show as' }).getByRole('button', { name: 'Text' }).click();
  await page.locator('.text mark', { hasText: 'word17' }).first().waitFor();
  assert.doesNotMatch(page.url(), /view=/);
});

step('its captures are listed, and one is seen as it was', async () => {
  await page.getByRole('link', { name: 'All captures' }).click();
  await page.getByRole('heading', { name: '1 capture' }).waitFor();
  const row = page.locator('table.captures tbody tr');
  assert.match(await row.textContent(), /200.*Web page.*new, or changed/);
  await row.getByRole('link').click();
  await page.getByText('This is a stored copy').waitFor();
  await page.frameLocator('iframe.capture-view').getByText('word17').first().waitFor();
  assert.equal(await page.locator('iframe.capture-view').getAttribute('sandbox'), '');
  await page.locator('.capture .asked', { hasText: 'http://plain.test/s0/p17' }).waitFor();
  await axe(page);
  await noOverflow(page);
  page.assertClean();
});

step('what has not changed is told when it was fetched again', async () => {
  await server.jobDone(await crawlOf('http://plain.test/', { force: true }));
  await page.goto('/captures-of?collection=town&url=http%3A%2F%2Fplain.test%2Fs0%2Fp17');
  await page.getByRole('heading', { name: '2 captures' }).waitFor();
  assert.match(await page.locator('table.captures tbody tr').first().textContent(), /the same as before/);
  await page.locator('table.captures tbody tr').first().getByRole('link').click();
  await page.frameLocator('iframe.capture-view').getByText('word17').first().waitFor();
  page.assertClean();
});

step('a stored page with scripts in it does nothing', async () => {
  await server.jobDone(await crawlOf('http://hostile.test/'));
  const dialogs = [];
  page.on('dialog', (dialog) => dialogs.push(dialog.message()) && dialog.dismiss());
  // What the browser stopped is told, as it should be; what it let through is not.
  const asked = [];
  const stopped = [];
  page.on('request', (request) => /evil/.test(request.url()) && asked.push(request.url()));
  page.on('requestfailed', (request) => /csp/i.test(request.failure().errorText) && stopped.push(request.url()));
  page.allow(/^console: .*(Blocked script execution|Content Security Policy|sandbox|Unsafe attempt to initiate navigation)/);
  page.allow(/^request to another host: http:\/\/evil\.test\//);
  await page.goto('/captures-of?collection=town&at=newest&url=http%3A%2F%2Fhostile.test%2F');
  await page.evaluate(() => window.addEventListener('message', (event) => (window.__owned = event.data)));
  const frame = page.frameLocator('iframe.capture-view');
  await frame.getByRole('heading', { name: 'vexillum' }).waitFor();
  await frame.getByText('Press me').click();
  await frame.getByText('Send it').click();
  await page.evaluate(() => new Promise((done) => setTimeout(done, 300)));
  assert.equal(await frame.getByText('scriptran').count(), 0);
  assert.equal(await page.evaluate(() => window.__owned), undefined);
  assert.deepEqual(dialogs, []);
  assert.deepEqual(asked, stopped, 'its server was asked');
  assert.match(page.url(), /captures-of/);
  await page.getByText('This is a stored copy').waitFor();
  page.assertClean();
});

step('the page says why an address is not there', async () => {
  const job = await crawlOf('http://robots.test/');
  await server.jobDone(job);
  await page.goto(`/crawls/${job}`);
  const box = page.getByLabel('Address, or a path such as /budget');
  await box.fill('/p');
  await box.press('Enter');
  const story = page.locator('.outcome');
  await story.getByText('It is not in').waitFor();
  assert.match(await story.textContent(), /http:\/\/robots\.test\/p.*robots\.txt/);
  await axe(page);
  await box.fill('robots.test/open');
  await box.press('Enter');
  await story.getByText('It is in the collection.').waitFor();
  await box.fill('http://elsewhere.test/');
  await box.press('Enter');
  await story.getByText(/outside the crawl's scope/).waitFor();
});

step('pages are shown by state, by reason and by site, at an address that can be sent', async () => {
  await page.getByRole('combobox', { name: 'Why' }).selectOption('robots');
  await page.waitForURL(/why=robots/);
  const rows = page.locator('.crawl-pages tbody tr');
  await eventually(async () => {
    const texts = await rows.allTextContents();
    assert.ok(texts.length >= 3 && texts.every((text) => /robots\.txt/.test(text)), texts.join('\n'));
  });
  await page.reload();
  await eventually(async () => assert.ok((await rows.count()) >= 3));
  await page.getByRole('combobox', { name: 'State' }).selectOption('in');
  await eventually(async () => {
    const texts = await rows.allTextContents();
    assert.ok(texts.length > 0 && texts.every((text) => /In/.test(text) && !/robots\.txt does/.test(text)), texts.join('\n'));
  });
  await page.locator('table.sites').getByRole('link', { name: 'robots.test' }).click();
  await page.waitForURL(/site=robots\.test/);
  await eventually(async () => assert.match((await rows.allTextContents()).join(), /robots\.test\/p.*robots\.test\/open|robots\.test\/open.*robots\.test\/p/s));
  page.assertClean();
});

step('a crawl is canceled, after a question', async () => {
  const job = await crawlOf('http://big.test/', { delay: 1 });
  await page.goto(`/crawls/${job}`);
  await badge('Running').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').getByText('Cancel this crawl?').waitFor();
  await axe(page);
  await page.getByRole('button', { name: 'No, leave it' }).click();
  await badge('Running').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Cancel the crawl' }).click();
  await badge('Canceled').waitFor({ timeout: 60_000 });
  assert.equal((await server.get(`/crawls/${job}`)).pages.open, 0);
  await page.done();
});

const tokenFor = (...args) => execFileSync(join(bin, 'quern'), ['token', 'create', '--data', strict.data, ...args], { encoding: 'utf8' }).trim();

async function openAs(token, path) {
  page = await openPage(strict, { path: null });
  page.allow(/status of 401/);
  await page.goto(path);
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

step('who may only read sees crawls and captures, and begins none', async () => {
  const bearer = { Authorization: `Bearer ${tokenFor('--role', 'admin')}` };
  for (const [host, collection] of [['hostile.test', 'other'], ['plain.test', 'town']]) {
    const { job } = await strict.post('/crawls', { urls: [`http://${host}/`], collection, delay: 0.01, max_pages: 3 }, bearer);
    await eventually(async () => assert.equal((await strict.get(`/jobs/${job}`, bearer)).state, 'done'));
  }
  await openAs(tokenFor('--role', 'reader', '--collection', 'town'), '/crawls');
  await page.locator('.job-row', { hasText: 'plain.test' }).waitFor();
  assert.equal(await page.locator('.job-row').count(), 1, 'a crawl of another collection is shown');
  assert.equal(await page.locator('.crawl-form').count(), 0);
  await page.getByRole('link', { name: 'plain.test' }).click();
  await page.locator('.crawl-pages').getByRole('link', { name: 'http://plain.test/', exact: true }).click();
  await page.locator('table.captures tbody').getByRole('link').first().click();
  await page.frameLocator('iframe.capture-view').getByText('word0').first().waitFor();
  page.assertClean();
  await page.goto('/captures-of?url=http%3A%2F%2Fhostile.test%2F');
  await page.getByRole('heading', { name: 'Nothing was captured of this address' }).waitFor();
  await page.done();
});
