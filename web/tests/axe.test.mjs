// Every page, light and dark, on a desk and on a phone: nothing that axe calls serious, and nothing wider than the
// window.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startPodcast } from './podcast_site.mjs';
import { startSite } from './site.mjs';
import { axe, closeBrowser, drop, eventually, longText, makeFolder, noOverflow, openPage, startServer, zipOf } from './support.mjs';

const desk = { width: 1280, height: 860 };
const phone = { width: 390, height: 780 };
const looks = [
  ['light on a desk', { viewport: desk, colorScheme: 'light' }],
  ['dark on a desk', { viewport: desk, colorScheme: 'dark' }],
  ['light on a phone', { viewport: phone, colorScheme: 'light' }],
  ['dark on a phone', { viewport: phone, colorScheme: 'dark' }],
];
const files = {
  'letters/a letter with a name that is longer than any phone is wide, and then some.txt': 'A letter about the Zwaluw.',
  'long.txt': longText({ pages: 4, words: { 2: 'the Zwaluw was seen' } }),
  'page.html': '<title>Harbour</title><h1>Harbour</h1><p>The Zwaluw again.</p>',
  'pile.zip': zipOf({ 'inner/one.txt': 'One.', 'inner/two.txt': 'Two.' }),
  'broken.zip': zipOf({ 'inner/one.txt': longText() }).subarray(0, 500),
};

let site;
let server;
let strict; // asks everybody for a token

before(async () => {
  site = await startSite();
  await site.set('plain.test', 'pages', 12);
  server = await startServer({ env: site.env });
  strict = await startServer({ args: ['--ask-everybody'] });
});
after(async () => {
  await closeBrowser();
  await server?.stop();
  await strict?.stop();
  await site?.stop();
});

// `ready`: what is there once the page is.
async function look(page, path, ready) {
  await page.goto(path);
  await page.locator(ready).first().waitFor();
  await eventually(async () => assert.equal(await page.locator('.loading').count(), 0, 'still loading'), { what: path });
  await axe(page);
  await noOverflow(page);
}

// All looks of some pages; what is wrong is told for all of them at once.
async function lookAtAll(of, where) {
  const wrong = [];
  for (const [name, options] of looks) {
    const page = await openPage(of, { ...options, path: null });
    page.allow(/status of 40[14]/);
    for (const [path, ready] of where) {
      await look(page, path, ready).catch((failure) => wrong.push(`${path}, ${name}: ${failure.message}`));
    }
    await page.done();
  }
  assert.equal(wrong.length, 0, `\n${wrong.join('\n\n')}`);
}

test('pages that have nothing to show yet', async () => {
  await lookAtAll(server, [
    ['/', '.drop'], ['/search', '.syntax'], ['/jobs', '.empty'], ['/collections', '.empty'], ['/errors', '.empty'],
    ['/work', '.empty'], ['/workers', 'h1'], ['/files/999', '.empty'], ['/jobs/999', 'main h1'],
    ['/crawls', '.empty'], ['/crawls/999', 'main h1'], ['/captures-of', '.empty'], ['/datasets', '.empty'], ['/datasets/999', 'main h1'],
  ]);
});

test('a link that leads nowhere', async () => {
  for (const [, options] of looks) {
    const page = await openPage(server, options);
    await page.locator('.drop').waitFor();
    await page.evaluate(() => {
      history.pushState(null, '', '/nowhere');
      window.dispatchEvent(new PopStateEvent('popstate'));
    });
    await page.getByRole('heading', { name: 'There is nothing at this address' }).waitFor();
    await axe(page);
    await noOverflow(page);
    await page.done();
  }
});

test('these checks find what is wrong', async () => {
  const page = await openPage(server, { viewport: phone });
  await page.locator('.drop').waitFor();
  await page.evaluate(() => {
    const wrong = document.createElement('input');
    document.querySelector('main').append(wrong);
  });
  await assert.rejects(axe(page), /critical label/);
  await page.evaluate(() => {
    const wide = document.createElement('div');
    wide.className = 'too-wide';
    wide.style.width = '900px';
    wide.style.height = '1px';
    document.querySelector('main').append(wide);
  });
  await assert.rejects(noOverflow(page), /too-wide/);
  await page.evaluate(() => console.error('something went wrong'));
  await eventually(() => assert.throws(() => page.assertClean(), /something went wrong/));
  await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'window.ran = true';
    document.body.append(script);
  });
  await eventually(() => assert.throws(() => page.assertClean(), /CSP: script-src/));
  assert.equal(await page.evaluate(() => window.ran), undefined);
  await page.context().close();
});

test('the login', async () => {
  await lookAtAll(strict, [['/', 'input[name=token]']]);
});

async function fill() {
  const page = await openPage(server);
  await drop(page, [makeFolder(files, 'leak')]);
  await page.waitForURL(/\/jobs\/\d+$/);
  await server.jobDone(1);
  await page.done();
  await server.post('/jobs', { collection: 'other', key: 'never sealed', source: 'a test' });
  await server.put('/partitions/mail', { handler: 'http://127.0.0.1:9/none', max_retries: 0, manual_checkpoint: true });
  for (const [item, gate] of [['first', 0], ['second', 0], ['third', 1], ['fourth', 2]]) await server.put(`/partitions/mail/items/${item}?gate=${gate}`, { item });
  await eventually(async () => assert.equal((await server.get('/partitions/mail')).failed, 2));
  await eventually(async () => assert.equal((await server.get('/search?q=zwaluw')).total, 3));
}

test('pages that are full', async () => {
  await fill();
  const { hits } = await server.get('/search?q=seen');
  const { items } = await server.get('/jobs/1/roots?limit=100');
  const numberOf = (name) => items.find((file) => file.filename.endsWith(name)).file;
  await lookAtAll(server, [
    ['/', '.cards'], ['/search?q=zwaluw', '.snippet mark'], ['/search?q=nobodywrotethis', '.empty'],
    [`/documents/${hits[0].document}?q=seen&n=0`, '.textLayer .highlight'],
    [`/documents/${hits[0].document}?q=seen&n=0&view=text`, '.text mark'],
    ['/jobs/1', '.ledger-table'], ['/jobs/2', '.job-state'], ['/jobs', '.job-row'], ['/jobs/1/files', '.file-row'],
    [`/files/${numberOf('broken.zip')}`, '.outcome'], [`/files/${numberOf('pile.zip')}`, '.file-row'],
    ['/errors', '.error-group'], ['/collections', 'main a[href="/collections/default"]'], ['/collections/default', '.document-row'],
    ['/work', 'table.partitions'], ['/partitions/mail', '.stations'], ['/workers', 'h1'],
  ]);
});

test('what opens: a group of errors, the menu of a phone, a question, the keys', async () => {
  const page = await openPage(server, { path: '/errors', viewport: phone });
  await page.locator('.error-group summary').first().click();
  await page.locator('.error-files a').first().waitFor();
  await axe(page);
  await noOverflow(page);
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('navigation', { name: 'Main' }).waitFor();
  await axe(page);
  await page.goto('/jobs/2');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').waitFor();
  await axe(page);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await page.locator('h1').focus();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await axe(page);
  await page.done();
});

test('pages of a crawl, and captures', async () => {
  const { job } = await server.post('/crawls', { urls: ['http://plain.test/', 'http://robots.test/p'], collection: 'web', delay: 0.01 });
  await server.jobDone(job);
  const hit = await eventually(async () => {
    const { hits } = await server.get('/search?q=word7&collection=web');
    assert.equal(hits.length, 1);
    return hits[0];
  });
  const captures = `/captures-of?${new URLSearchParams({ url: hit.url, collection: 'web' })}`;
  await lookAtAll(server, [
    ['/crawls', '.job-row'], [`/crawls/${job}`, '.crawl-pages'], [`/crawls/${job}?state=out`, '.crawl-pages'], [captures, 'table.captures'],
    [`${captures}&at=newest`, 'iframe.capture-view'], [`/documents/${hit.document}?q=word7&n=0`, '.text mark'],
    ['/search?q=word7', '.snippet mark'], [`/jobs/${job}`, '.ledger-table'],
  ]);
});

test('datasets: one that is kept, one that is none', async () => {
  const jobs = [];
  for (const url of ['http://files.test/three.pdf', 'http://plain.test/']) {
    const { job } = await server.post('/filesets', { url, collection: 'data' });
    await eventually(async () => assert.equal((await server.get(`/filesets/${job}`)).state, 'done'));
    jobs.push(job);
  }
  await lookAtAll(server, [
    ['/datasets', '.job-row'], [`/datasets/${jobs[0]}`, '.dataset-files'], [`/datasets/${jobs[1]}`, '.outcome-line'], [`/jobs/${jobs[0]}`, 'main h1'],
  ]);
});

test('episodes, clips, and what was found', async () => {
  const podcast = await startPodcast();
  const heard = await startServer({ env: podcast.env });
  try {
    await heard.post('/episodes', { collection: 'locks', sources: [{ url: podcast.feed }] });
    for (const name of ['jingle', 'silence']) await heard.post('/clips', { collection: 'locks', sources: [{ url: podcast.clip(name), title: name }] });
    await eventually(async () => {
      const status = await heard.get('/research');
      assert.ok(status.idle && status.results === 4, JSON.stringify(status));
    }, { seconds: 180 });
    const episode = (await heard.get('/episodes')).items.find(({ title }) => title === 'The upper lock').id;
    const [jingle, silence] = (await heard.get('/clips')).items.map(({ id }) => id);
    await lookAtAll(heard, [
      ['/episodes', '.job-row'], ['/clips', '.job-row'], [`/episodes/${episode}`, '.flag'], [`/clips/${jingle}`, '.finding'], [`/clips/${silence}`, '.failures'],
      ['/research', '.failures'],
    ]);
  } finally {
    await heard.stop();
    await podcast.stop();
  }
});
