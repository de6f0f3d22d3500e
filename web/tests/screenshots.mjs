// node screenshots.mjs FOLDER: a picture of every page, light and dark, on a desk and on a phone, with our samples in them.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startPodcast } from './podcast_site.mjs';
import { startSite } from './site.mjs';
import { closeBrowser, eventually, longText, openPage, sleep, startServer, zipOf } from './support.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const folder = resolve(process.argv[2] ?? join(root, 'build/screenshots'));
const sizes = { desk: { width: 1280, height: 860 }, phone: { width: 390, height: 844 } };

function* filesUnder(path) {
  for (const name of readdirSync(path).sort()) {
    const inner = join(path, name);
    if (statSync(inner).isDirectory()) yield* filesUnder(inner);
    else yield inner;
  }
}

async function add(server, collection, source, files) {
  const job = await server.post('/jobs', { collection, source });
  let index = 0;
  for (const [filename, body] of files) {
    const query = new URLSearchParams({ filename, job: job.job, index: index++ });
    const answer = await fetch(`${server.url}/api/v1/collections/${collection}/files?${query}`, { method: 'POST', body });
    assert.equal(answer.status, 201, await answer.text());
  }
  await server.post(`/jobs/${job.job}/seal`);
  return job.job;
}

const sampleFiles = (name) => [...filesUnder(join(root, 'samples', name))].map((path) => [relative(join(root, 'samples'), path), readFileSync(path)]);

// A handler that does the work of a partition slowly, and fails one item for good.
function startHandler() {
  return new Promise((done) => {
    const handler = createServer((request, response) => {
      let body = '';
      request.on('data', (piece) => (body += piece));
      request.on('end', () => {
        const bad = body.includes('illegible');
        const answer = bad ? { error: { message: 'the scan is illegible', no_retry: true } } : { done: true };
        setTimeout(() => response.end(JSON.stringify(answer)), body.includes('slow') ? 60_000 : 50);
      });
    });
    handler.listen(0, '127.0.0.1', () => done(handler));
  });
}

async function addWork(server, handler) {
  await server.put('/partitions/letters', { handler: `http://127.0.0.1:${handler.address().port}/`, max_retries: 1 });
  const put = async (name, gate, text) => {
    const answer = await fetch(`${server.url}/api/v1/partitions/letters/items/${name}?gate=${gate}`, { method: 'PUT', body: text });
    assert.ok(answer.ok, await answer.text());
  };
  await put('letter-07', 0, 'illegible');
  for (let number = 1; number <= 6; ++number) await put(`letter-0${number}`, 0, 'a letter');
  for (let number = 1; number <= 4; ++number) await put(`translate-0${number}`, 1, number > 2 ? 'slow' : 'a letter');
  for (let number = 1; number <= 5; ++number) await put(`index-0${number}`, 2, 'a letter');
  const message = { type: 'start_timer', site: 'example.org', timeout: 3600, callback_queue: 'PACK', callback_msg: { type: 'pack_full', site: 'example.org' } };
  await server.post('/queues/TIMER/messages', message);
}

async function addCrawl(server, site) {
  await site.set('plain.test', 'pages', 60);
  await site.set('robots.test', 'crawl_delay', '0.02');
  const { job } = await server.post('/crawls', { urls: ['http://plain.test/', 'http://robots.test/', 'http://errors.test/'], collection: 'council', delay: 0.02, period: 604800 });
  await eventually(async () => assert.ok((await server.get('/search?q=word17&collection=council')).total > 0));
  await eventually(async () => assert.ok((await server.get(`/crawls/${job}`)).pages.in > 60));
  return job;
}

async function addDatasets(server) {
  const jobs = [];
  for (const url of ['http://files.test/three.pdf', 'http://plain.test/']) {
    const { job } = await server.post('/filesets', { url, collection: 'rescue' });
    await eventually(async () => assert.equal((await server.get(`/filesets/${job}`)).state, 'done'));
    jobs.push(job);
  }
  return jobs;
}

// A podcast of its own server, since all connections of one go to one site.
async function shootResearch() {
  const podcast = await startPodcast();
  const server = await startServer({ env: podcast.env });
  await shoot(server, 'episodes-empty', '/episodes');
  await shoot(server, 'clips-empty', '/clips');
  await shoot(server, 'research-empty', '/research');
  await server.post('/episodes', { collection: 'locks', priority: 2, sources: [{ url: podcast.feed }, { url: podcast.clip('gone'), title: 'A lost one' }] });
  for (const name of ['jingle', 'drop', 'never', 'silence']) await server.post('/clips', { collection: 'locks', sources: [{ url: podcast.clip(name), title: name }] });
  await eventually(async () => {
    const status = await server.get('/research');
    assert.ok(status.idle && status.results === 8, JSON.stringify(status));
  }, { seconds: 180 });
  const episode = (await server.get('/episodes')).items.find(({ title }) => title === 'The upper lock').id;
  const clip = (await server.get('/clips')).items.find(({ title }) => title === 'drop').id;
  const pages = { episodes: '/episodes', episode: `/episodes/${episode}?at=9.75`, clips: '/clips', clip: `/clips/${clip}`, research: '/research' };
  for (const [name, path] of Object.entries(pages)) await shoot(server, name, path);
  await server.stop();
  await podcast.stop();
}

async function prepare() {
  const site = await startSite();
  const server = await startServer({ env: site.env });
  const texts = sampleFiles('resumes');
  const report = longText({ pages: 6, words: { 2: 'the Kingfisher was unlisted', 4: 'nobody saw the Kingfisher leave', 6: 'Kingfisher, again' } });
  const notes = { 'notes/monday.txt': 'The Kingfisher came at dawn.', 'notes/tuesday.txt': 'Nothing on the river.', 'notes/locks/upper.txt': 'The upper lock was open all night.' };
  const desk = await add(server, 'harbour', 'desk', [...sampleFiles('desk'), ['desk/report.txt', report], ['desk/notes.zip', zipOf(notes)]]);
  const leak = await add(server, 'leak', 'leak', [...sampleFiles('leak'), ['leak/broken.pdf', '%PDF-1.7\n1 0 obj\n<< /Type /Catalog'], ['leak/blob.dat', Buffer.alloc(2000, 7)]]);
  const resumes = await add(server, 'applications', 'resumes', texts);
  for (const job of [desk, leak, resumes]) await server.jobDone(job);
  const handler = await startHandler();
  await addWork(server, handler);
  await eventually(async () => assert.ok((await server.get('/search?q=kingfisher')).total >= 3));
  await eventually(async () => assert.equal((await server.get('/partitions/letters')).failed, 1));
  await server.post('/partitions/letters/requeue', { item: 'none' }).catch(() => {});
  const crawl = await addCrawl(server, site);
  const datasets = await addDatasets(server);
  return { server, site, handler, desk, leak, crawl, datasets };
}

async function addressesOf({ server, desk, leak, crawl, datasets }) {
  const page = (await server.get('/search?q=word17&collection=council')).hits[0];
  const captures = `/captures-of?${new URLSearchParams({ url: page.url, collection: 'council' })}`;
  const hit = (await server.get('/search?q=kingfisher&collection=harbour')).hits.find((one) => one.filename.endsWith('report.txt'));
  const archive = (await server.get('/files?collection=leak&limit=500')).items.find((one) => one.filename.endsWith('.zip'));
  const error = (await server.get('/errors?collection=leak')).items[0];
  return {
    home: '/',
    search: '/search?q=kingfisher',
    'search-help': '/search',
    'search-none': '/search?q=unobtainium',
    document: `/documents/${hit.document}?q=kingfisher&n=0&page=${hit.page ?? 1}`,
    'document-text': `/documents/${hit.document}?q=kingfisher&n=0&view=text`,
    jobs: '/jobs',
    job: `/jobs/${desk}`,
    tree: `/jobs/${leak}/files`,
    file: `/files/${archive.file}`,
    error: `/files/${error.file}`,
    errors: '/errors?collection=leak',
    collections: '/collections',
    collection: '/collections/harbour',
    crawls: '/crawls',
    crawl: `/crawls/${crawl}`,
    'crawl-out': `/crawls/${crawl}?state=out`,
    datasets: '/datasets',
    dataset: `/datasets/${datasets[0]}`,
    'dataset-none': `/datasets/${datasets[1]}`,
    captures,
    capture: `${captures}&at=newest`,
    'document-page': `/documents/${page.document}?q=word17&n=0`,
    'search-page': '/search?q=word17',
    work: '/work',
    partition: '/partitions/letters',
    workers: '/workers',
    missing: '/nothing/here',
  };
}

async function shoot(server, name, path, looks = Object.keys(sizes)) {
  for (const look of looks) {
    for (const colorScheme of ['light', 'dark']) {
      const page = await openPage(server, { path: null, viewport: sizes[look], colorScheme });
      page.allow(/status of 40[14]/);
      await page.goto(path);
      await page.locator('main').waitFor();
      await eventually(async () => assert.equal(await page.locator('.loading').count(), 0));
      await sleep(name.startsWith('document') ? 700 : 250); // a PDF draws itself, pictures come
      await page.screenshot({ path: join(folder, `${name}-${look}-${colorScheme}.png`) });
      await page.done();
    }
  }
}

async function main() {
  mkdirSync(folder, { recursive: true });
  const made = await prepare();
  for (const [name, path] of Object.entries(await addressesOf(made))) await shoot(made.server, name, path);

  await shootResearch();

  // One that is under way, since nobody does its work; an empty house; and a locked one.
  const waiting = await startServer({ args: ['--steps', 'none'] });
  await shoot(waiting, 'home-empty', '/');
  await shoot(waiting, 'crawls-empty', '/crawls');
  await shoot(waiting, 'datasets-empty', '/datasets');
  const job = await add(waiting, 'leak', 'leak', sampleFiles('leak'));
  await shoot(waiting, 'job-running', `/jobs/${job}`);
  const locked = await startServer({ args: ['--ask-everybody'] });
  await shoot(locked, 'login', '/');

  made.handler.closeAllConnections();
  made.handler.close();
  for (const server of [made.server, waiting, locked]) await server.stop();
  await made.site.stop();
  await closeBrowser();
  console.log(`${readdirSync(folder).filter((name) => name.endsWith('.png')).length} pictures in ${relative(process.cwd(), folder) || '.'}`);
}

await main();
