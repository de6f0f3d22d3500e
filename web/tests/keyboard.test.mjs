// The same way by keyboard alone: no test here may touch page.mouse, click() or hover(). Wherever one arrives, the
// focus is somewhere, and can be seen.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { closeBrowser, eventually, inOrder, longText, makeFolder, openPage, sha256, startServer, temporary, zipOf } from './support.mjs';

const tabsMax = 80;
const zipped = { 'boats/barge.txt': 'The barge lay at the old mole.', 'boats/ferry.txt': 'A ferry called Zwaluw.' };
const files = {
  'a/long.txt': longText({ pages: 5, words: { 2: 'the kingfisher was seen', 4: 'and the kingfisher came again' } }),
  'a/short.txt': 'A short note on the Zwaluw.',
  'b/other.txt': 'Another note, on the heron.',
};

const step = inOrder(() => page);
let server;
let page;
let job;

before(async () => {
  server = await startServer();
  page = await openPage(server);
  page.on('filechooser', () => {}); // from now on the browser asks us, not a person
});
after(async () => {
  await closeBrowser();
  await server?.stop();
});

const press = async (...keys) => {
  for (const key of keys) await page.keyboard.press(key);
};

// What has the focus, in the words of a screen reader as far as that matters here.
const focused = () => page.evaluate(() => {
  const one = document.activeElement;
  const name = one.getAttribute('aria-label') ?? (one.labels?.[0] ?? one).textContent;
  const ring = (element) => {
    const style = getComputedStyle(element);
    return (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== 'none';
  };
  const { top, bottom, width, height } = one.getBoundingClientRect();
  return {
    tag: document.hasFocus() ? one.tagName : 'BODY', name: name.trim().replace(/\s+/g, ' '),
    visible: width > 0 && height > 0 && bottom > 0 && top < window.innerHeight,
    ring: ring(one) || ring(one.parentElement) || ring(one.closest('li') ?? one),
    place: one.tabIndex < 0, // a heading or the page itself, to read on from
  };
});

async function focusIsSensible(where) {
  await eventually(async () => assert.notEqual((await focused()).tag, 'BODY', `${where}: nothing has the focus`), { seconds: 10 });
  const one = await focused();
  assert.ok(one.visible, `${where}: the focus is out of sight, on ${one.tag} ${one.name}`);
}

// A picture later, for what moves into sight when it gets the focus.
async function showsFocus({ tag, name }) {
  await eventually(async () => {
    const now = await focused();
    assert.ok(now.ring, `nobody sees that ${tag} "${name}" has the focus`);
    assert.ok(now.visible, `${tag} "${name}" has the focus out of sight`);
  }, { seconds: 5 });
}

// Tab by Tab to the thing of that name. Each stop on the way must show that it is one.
async function tabTo(pattern, key = 'Tab') {
  const passed = [];
  for (let n = 0; n < tabsMax; n++) {
    await press(key);
    const one = await focused();
    if (one.tag !== 'BODY') { // which is where Tab leaves the page
      await showsFocus(one);
      if (pattern.test(one.name)) return one;
    }
    passed.push(`${one.tag} ${one.name.slice(0, 40)}`);
  }
  return assert.fail(`Tab never came to ${pattern}; it passed\n${passed.slice(0, 30).join('\n')}`);
}

async function arrives(heading) {
  await page.getByRole('heading', { level: 1, name: heading }).waitFor();
  await focusIsSensible(String(heading));
}

async function choose(button, paths) {
  await tabTo(button);
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), press('Enter')]);
  await chooser.setFiles(paths);
  await page.waitForURL(/\/jobs\/\d+$/);
  await arrives(/^Import of/);
  return Number(page.url().split('/').pop());
}

step('the first Tab offers to skip to the page', async () => {
  await page.getByRole('heading', { name: 'Welcome to Quern' }).waitFor();
  await page.goto('/jobs');
  await page.getByRole('heading', { level: 1, name: 'Imports' }).waitFor();
  await press('Tab');
  assert.equal((await focused()).name, 'Skip to the page');
  await press('Enter');
  assert.equal((await focused()).tag, 'MAIN');
});

step('files are chosen by the button, and the import is watched to its end', async () => {
  const zip = join(temporary(), 'pile.zip');
  writeFileSync(zip, zipOf(zipped));
  await press('g', 'h');
  await page.getByRole('heading', { name: 'Welcome to Quern' }).waitFor();
  await focusIsSensible('home');
  await choose(/^Choose files$/, [zip]);
  await page.getByRole('heading', { name: /^Done in .*2 documents from 1 file$/ }).waitFor();
});

step('a folder is chosen by its button', async () => {
  await press('g', 'h');
  await focusIsSensible('home again');
  job = await choose(/^Choose a folder$/, makeFolder(files, 'leak'));
  await page.getByRole('heading', { name: /^Done in .*3 documents from 3 files$/ }).waitFor();
});

step('one types, goes down to the hit and opens it', async () => {
  await tabTo(/^Search it$/);
  await press('Enter');
  await page.waitForURL(/\/search/);
  await eventually(async () => assert.equal((await focused()).tag, 'INPUT', 'the search box waits for words'));
  await page.keyboard.type('kingfisher');
  await page.waitForURL(/q=kingfisher/);
  await page.locator('.snippet mark').first().waitFor();
  await press('ArrowDown');
  assert.match((await focused()).name, /long\.txt/);
  await press('ArrowUp');
  assert.equal((await focused()).tag, 'INPUT');
  await press('ArrowDown', 'Enter');
  await page.waitForURL(/\/documents\/\d+/);
  await arrives('long.txt');
  await page.locator('.page[data-page-number="2"] .textLayer .highlight').first().waitFor();
});

step('n and p go from hit to hit in the pages', async () => {
  const matches = (text) => eventually(async () => assert.equal(await page.locator('[data-test=matches]').textContent(), text));
  await matches('1 of 2');
  await press('n');
  await matches('2 of 2');
  await press('p');
  await matches('1 of 2');
});

step('the text view is reached, and has marks', async () => {
  await tabTo(/^Text$/);
  await press('Enter');
  await eventually(async () => assert.equal(await page.locator('.text-view mark').count(), 2));
  await focusIsSensible('text view');
});

step('the original is downloaded', async () => {
  await tabTo(/^Original$/);
  const [download] = await Promise.all([page.waitForEvent('download'), press('Enter')]);
  assert.equal(sha256(readFileSync(await download.path())), sha256(Buffer.from(files['a/long.txt'])));
});

step('u goes up to the files of the import, arrows and Enter walk them', async () => {
  await press('u');
  await arrives(/^Files of/);
  await tabTo(/long\.txt/);
  await press('End');
  await eventually(async () => assert.match((await focused()).name, /other\.txt/));
  await press('Home', 'ArrowDown');
  await eventually(async () => assert.match((await focused()).name, /short\.txt/));
  await press('Enter');
  await arrives('short.txt');
  await press('u');
  await arrives(/^Files of/);
  await press('u');
  await arrives(/^Import of/);
  assert.equal(new URL(page.url()).pathname, `/jobs/${job}`);
});

step('/ goes to the search from any page; a document of an archive leads up into it', async () => {
  await press('/');
  assert.match((await focused()).name, /^Search/);
  await page.keyboard.type('mole');
  await press('Enter');
  await page.locator('.snippet mark').first().waitFor();
  await focusIsSensible('search');
  await press('/', 'ArrowDown', 'Enter');
  await arrives('barge.txt');
  await press('u');
  await arrives('pile.zip');
  await tabTo(/ferry\.txt/);
  await press('Enter');
  await arrives('ferry.txt');
});

step('a facet is chosen with the space bar', async () => {
  await press('/');
  await page.keyboard.type('zwaluw');
  await press('Enter');
  await eventually(async () => assert.equal(await page.locator('.hit').count(), 2));
  await tabTo(/^Text 2$/);
  await press('Space');
  await eventually(() => assert.match(page.url(), /type%3Atext/));
  await focusIsSensible('facets');
});

step('the keys are told by ?, and Escape closes them', async () => {
  await press('g', 'j');
  await arrives('Imports');
  await press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await press('Escape');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor({ state: 'hidden' });
  await focusIsSensible('after the dialog');
});

step('Escape says no to a question, and the focus returns to where it was asked', async () => {
  await press('g', 'c');
  await arrives('Collections');
  await tabTo(/^default/);
  await press('Enter');
  await arrives('default');
  await tabTo(/^Delete$/);
  await press('Enter');
  await page.getByRole('dialog').waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.closest('dialog') !== null), true);
  await press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await eventually(async () => assert.equal((await focused()).name, 'Delete'));
  assert.equal((await server.get('/collections/default')).documents, 5);
});

step('an error is found and tried again', async () => {
  await press('g', 'h');
  await focusIsSensible('home');
  const zip = join(temporary(), 'cut.zip');
  writeFileSync(zip, zipOf({ 'inner/one.txt': longText() }).subarray(0, 600));
  const failed = await choose(/^Choose files$/, [zip]);
  await page.getByRole('heading', { name: /^Done in / }).waitFor();
  await press('g', 'e');
  await arrives('Errors');
  await tabTo(/^1.+cut\.zip/); // the group, with how many and why
  await press('Enter');
  await page.locator('.error-files').getByRole('button').first().waitFor();
  await tabTo(/^Try again: cut\.zip/);
  await press('Enter');
  await eventually(async () => assert.equal((await server.get('/jobs?limit=1')).items[0].job, failed + 1));
  assert.equal((await server.jobDone(failed + 1)).kind, 'retry');
  await page.getByText('tried again').first().waitFor();
  await focusIsSensible('an error that was tried again');
});

step('a partition is watched, and its failed item put back to work', async () => {
  await server.put('/partitions/mail/items/letter?gate=0', {});
  await server.put('/partitions/mail', { handler: 'http://127.0.0.1:9/nobody', max_retries: 0 });
  await eventually(async () => assert.equal((await server.get('/partitions/mail')).failed, 1));
  await press('g', 'w');
  await arrives('Work');
  await tabTo(/^mail$/);
  await press('Enter');
  await arrives('mail');
  await page.getByRole('list', { name: 'Gates' }).getByText('1 failed').waitFor();
  const { calls } = await server.get('/partitions/mail/items/letter');
  await tabTo(/^Try again: letter$/);
  await press('Enter');
  await eventually(async () => assert.ok((await server.get('/partitions/mail/items/letter')).calls > calls));
});

step('g and a letter lead to every part of the house', async () => {
  for (const [key, heading] of [['e', 'Errors'], ['w', 'Work'], ['j', 'Imports'], ['c', 'Collections']]) {
    await press('g', key);
    await arrives(heading);
  }
  await press('g', 's');
  await page.waitForURL(/\/search$/);
  await focusIsSensible('search');
  await page.done();
});
