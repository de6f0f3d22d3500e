// A podcast is brought in from the browser, clips are looked for in it, and one hears each where it was played.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { startPodcast } from './podcast_site.mjs';
import { axe, bin, closeBrowser, eventually, inOrder, makeFolder, noOverflow, openPage, startServer } from './support.mjs';

const nearSeconds = 0.02;

let site;
let server;
let strict; // asks everybody for a token
let page;
const step = inOrder(() => page);

before(async () => {
  site = await startPodcast();
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

const go = (name) => page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name, exact: true }).click();
const rowOf = (name) => page.locator('.job-row', { hasText: name });
const near = (a, b) => assert.ok(Math.abs(a - b) < nearSeconds, `${a} is not ${b}`);
const idOf = async (kind, title, of = server, headers) => {
  const { items } = await of.get(`/${kind}?limit=100`, headers);
  const found = items.find((one) => one.title === title);
  assert.ok(found, `there is no ${title} among ${items.map((one) => one.title)}`);
  return found.id;
};

async function researched(pairs) {
  await eventually(async () => {
    const status = await server.get('/research');
    assert.ok(status.idle && status.results === pairs, JSON.stringify(status));
  }, { seconds: 180, what: `${pairs} pairs were not researched` });
}

// Where the player was sent, in seconds, in order. It moves on by itself; where it was sent does not.
async function watchPlayer(selector) {
  await page.locator(selector).waitFor();
  await page.evaluate((wanted) => {
    window.sent = [];
    const audio = document.querySelector(wanted);
    audio.addEventListener('seeking', () => window.sent.push(audio.currentTime));
  }, selector);
}
async function sentTo(at) {
  await eventually(async () => near((await page.evaluate(() => window.sent)).at(-1), at), { what: `the player is not at ${at}` });
}
async function playerAt(selector, at) {
  await eventually(async () => {
    const now = await page.locator(selector).evaluate((audio) => audio.currentTime);
    assert.ok(now >= at - nearSeconds, `${now} is before ${at}`);
  }, { what: 'the player does not go there' });
}

step('pages without anything teach what would be there', async () => {
  await go('Episodes');
  await page.getByRole('heading', { name: 'No episode is here yet' }).waitFor();
  await page.getByText(/quern episodes add/).waitFor();
  await axe(page);
  await go('Clips');
  await page.getByRole('heading', { name: 'No clip is here yet' }).waitFor();
  await axe(page);
  await go('Research');
  await page.getByRole('heading', { name: 'Nothing to listen to yet' }).waitFor();
  await page.getByRole('link', { name: 'Add episodes' }).waitFor();
  await axe(page);
  await noOverflow(page);
});

step('what is wrong in the form is said where it belongs', async () => {
  await go('Episodes');
  const box = page.getByLabel('Address');
  await page.getByRole('button', { name: 'Add it' }).click();
  await page.locator('#curated-url-wrong', { hasText: 'Paste an address' }).waitFor();
  await eventually(async () => assert.equal(await box.evaluate((one) => one === document.activeElement), true));
  await box.fill(site.feed);
  await page.getByLabel('Priority').fill('very');
  await page.keyboard.press('Enter');
  await page.locator('#curated-priority-wrong').waitFor();
  await page.getByLabel('Priority').fill('2');
  await page.getByLabel('Into the collection').fill('no/such name');
  const forget = page.allow(/status of 400/);
  await page.keyboard.press('Enter');
  await page.locator('#curated-collection-wrong').waitFor();
  await axe(page);
  forget();
});

step('a feed is added by the keyboard alone, and its episodes come', async () => {
  await page.reload();
  await page.getByLabel('Address').focus();
  await page.keyboard.type(site.feed);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('2');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('locks');
  await page.keyboard.press('Enter');
  for (const title of Object.keys(site.planted)) {
    await rowOf(title).locator('.badge', { hasText: 'Ready' }).waitFor({ timeout: 120_000 });
    assert.match(await rowOf(title).textContent(), /priority 2/);
  }
  await page.getByRole('heading', { name: 'Feeds' }).waitFor();
  await rowOf('The lock keepers').getByText(/again/).waitFor();
  await axe(page);
  await noOverflow(page);
  page.assertClean();
});

step('clips are added by an address, and as files; what is no recording is left out', async () => {
  await go('Clips');
  await page.getByLabel('Address').fill(site.clip('jingle'));
  await page.getByLabel('Title').fill('Jingle');
  await page.getByLabel('Into the collection').fill('locks');
  await page.getByRole('button', { name: 'Add it' }).click();
  await rowOf('Jingle').locator('.badge', { hasText: 'Ready' }).waitFor({ timeout: 120_000 });
  const folder = makeFolder({ 'drop.wav': site.bytes('/clips/drop.wav'), 'never.wav': site.bytes('/clips/never.wav'), 'notes.txt': 'no sound' });
  await page.setInputFiles('[data-test=recordings]', ['drop.wav', 'never.wav', 'notes.txt'].map((name) => join(folder, name)));
  await page.getByText('2 recordings on the way; 1 other file left out.').waitFor();
  for (const name of ['drop', 'never']) await rowOf(name).locator('.badge', { hasText: 'Ready' }).waitFor({ timeout: 120_000 });
  await axe(page);
  page.assertClean();
});

step('every clip is looked for in every episode', async () => {
  await go('Research');
  await page.getByRole('heading', { name: '3 clips in 2 episodes' }).waitFor();
  await page.locator('.heading .badge', { hasText: 'Done' }).waitFor({ timeout: 180_000 });
  await researched(6);
  await axe(page);
  await noOverflow(page);
});

step('an episode shows its clips where they are', async () => {
  await go('Episodes');
  await rowOf('The upper lock').getByText('2 clips in it').waitFor();
  await rowOf('The upper lock').getByRole('link', { name: 'The upper lock' }).click();
  await page.getByRole('heading', { name: '2 clips in it' }).waitFor();
  const flags = page.locator('.flag');
  await eventually(async () => assert.equal(await flags.count(), 3));
  const wanted = [['Jingle', 2.5], ['drop', 9.75], ['Jingle', 17.25]];
  const box = await page.locator('.waveform svg').boundingBox();
  const length = 24;
  for (const [index, [title, at]] of wanted.entries()) {
    const label = await flags.nth(index).getAttribute('aria-label');
    assert.match(label, new RegExp(`^[AB]: ${title}, at 0:${String(Math.floor(at)).padStart(2, '0')}`));
    const flag = await flags.nth(index).boundingBox();
    const share = (flag.x - box.x) / box.width;
    assert.ok(Math.abs(share - at / length) < 0.01, `the mark of ${label} is at ${share}`);
  }
  assert.ok((await page.locator('.waveform .loudness').first().getAttribute('d')).length > 500, 'the picture has no shape');
  assert.equal(await page.locator('.waveform .band').count(), 3);
  await axe(page);
  await noOverflow(page);
});

step('a mark plays there', async () => {
  await watchPlayer('.listening audio');
  await page.locator('.flag').nth(1).click();
  await sentTo(9.75);
  await playerAt('.listening audio', 9.75);
  assert.equal(await page.locator('.listening audio').evaluate((audio) => audio.error), null);
});

step('so do the keys: from mark to mark, and from the list', async () => {
  await page.locator('.flag').first().focus();
  await page.keyboard.press('End');
  assert.match(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), /Jingle, at 0:17/);
  assert.equal(await page.locator('.flag[tabindex="0"]').count(), 1);
  await page.keyboard.press('Enter');
  await sentTo(17.25);
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('Enter');
  await sentTo(2.5);
  await page.getByRole('button', { name: /^Play drop at 0:09\.7/ }).focus();
  await page.keyboard.press('Enter');
  await sentTo(9.75);
  page.assertClean();
});

step('a clip shows all its places, in all episodes, and plays them', async () => {
  await page.getByRole('link', { name: 'drop', exact: true }).click();
  await page.getByRole('heading', { name: 'Played 2 times, in 2 episodes' }).waitFor();
  await page.getByText('2 episodes were searched for it').waitFor();
  await page.getByRole('button', { name: /^Play Three barges at 0:04\.[45]/ }).click();
  await page.getByText('Three barges, at 0:04.5').waitFor();
  await playerAt('.heard audio', 4.5);
  await axe(page);
  await noOverflow(page);
  await page.getByRole('link', { name: /^Show it there: The upper lock/ }).click();
  await page.waitForURL(/\/episodes\/\d+\?at=9\.7/);
  await page.getByRole('heading', { level: 1, name: 'The upper lock' }).waitFor();
  await playerAt('.listening audio', 9.75);
  page.assertClean();
});

step('a clip that was never played says so', async () => {
  await page.goto(`/clips/${await idOf('clips', 'never')}`);
  await page.getByRole('heading', { name: 'Not found so far' }).waitFor();
  await page.getByText('2 episodes were searched for it').waitFor();
  await axe(page);
});

step('a clip that cannot be looked for says why, and is tried again', async () => {
  await server.post('/clips', { collection: 'locks', sources: [{ url: site.clip('silence'), title: 'Silence' }] });
  await researched(8);
  await go('Research');
  await page.getByRole('heading', { name: '2 pairs could not be looked for' }).waitFor();
  await axe(page);
  await page.getByRole('button', { name: 'Try all again' }).click();
  await page.getByText('They are looked for again').waitFor();
  await researched(8);
  page.assertClean();
});

step('a priority is changed on the page', async () => {
  const id = await idOf('episodes', 'Three barges');
  await page.goto(`/episodes/${id}`);
  await page.getByLabel('Priority').fill('7');
  await page.getByRole('button', { name: 'Set' }).click();
  await page.getByText('The priority was changed').waitFor();
  assert.equal((await server.get(`/episodes/${id}`)).priority, 7);
});

step('what is taken away can be brought back, for a while', async () => {
  const id = await idOf('clips', 'never');
  await page.goto(`/clips/${id}`);
  await page.getByRole('button', { name: 'Take away' }).click();
  await page.waitForURL(/\/clips$/);
  await page.getByRole('link', { name: 'Jingle' }).waitFor();
  assert.equal(await rowOf('never').count(), 0);
  await page.getByRole('button', { name: 'Undo' }).click();
  await rowOf('never').waitFor();
  assert.equal((await server.get(`/clips/${id}`)).id, id);
});

step('what is not there says so', async () => {
  page.allow(/status of 404/);
  await page.goto('/episodes/999999');
  await page.getByRole('heading', { name: 'This episode is not here' }).waitFor();
  await page.goto('/clips/999999');
  await page.getByRole('heading', { name: 'This clip is not here' }).waitFor();
  await page.done();
});

const tokenFor = (...args) => execFileSync(join(bin, 'quern'), ['token', 'create', '--data', strict.data, ...args], { encoding: 'utf8' }).trim();

step('who may only read hears what is in their collection, and changes nothing', async () => {
  const bearer = { Authorization: `Bearer ${tokenFor('--role', 'admin')}` };
  const ids = {};
  for (const [collection, name] of [['locks', 'jingle'], ['other', 'drop']]) {
    await strict.post('/clips', { collection, sources: [{ url: site.clip(name), title: name }] }, bearer);
    ids[name] = await eventually(async () => {
      const id = await idOf('clips', name, strict, bearer);
      assert.equal((await strict.get(`/clips/${id}`, bearer)).media, 'ready');
      return id;
    });
  }
  page = await openPage(strict, { path: null });
  page.allow(/status of 40[134]/);
  await page.goto('/clips');
  await page.getByLabel('Token').fill(tokenFor('--role', 'reader', '--collection', 'locks'));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await rowOf('jingle').waitFor();
  assert.equal(await page.locator('.job-row').count(), 1, 'a clip of another collection is shown');
  assert.equal(await page.locator('.curated-form').count(), 0);
  await rowOf('jingle').getByRole('link', { name: 'jingle' }).click();
  await page.getByRole('heading', { name: 'The clip itself' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Take away' }).count(), 0);
  const status = (id) => page.evaluate(async (path) => (await fetch(path)).status, `/research/media/${id}`);
  assert.equal(await status(ids.jingle), 200);
  assert.ok([403, 404].includes(await status(ids.drop)), 'a recording of another collection is given out');
  await page.done();
});
