// Where tokens are demanded: the login page, what a role may do, and what a token for one collection sees.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { axe, closeBrowser, eventually, openPage, startServer } from './support.mjs';

const bin = resolve(process.env.QUERN_BIN ?? join(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '../../build/release/bin'));
const quern = (...args) => execFileSync(join(bin, 'quern'), args, { encoding: 'utf8', env: { ...process.env, PATH: `${bin}:${process.env.PATH}` } });
const expected401 = /status of 401/;
let server;
const tokens = {};

before(async () => {
  server = await startServer({ args: ['--ask-everybody'] });
  const make = (...args) => quern('token', 'create', '--data', server.data, ...args).trim();
  tokens.admin = make('--role', 'admin');
  tokens.reader = make('--role', 'reader');
  tokens.leak = make('--role', 'editor', '--collection', 'leak');
  const authorization = { Authorization: `Bearer ${tokens.admin}` };
  for (const collection of ['leak', 'secret']) {
    const answer = await fetch(`${server.url}/api/v1/collections/${collection}/files?filename=${collection}.txt`, {
      method: 'POST', headers: authorization, body: `the heron of ${collection}`,
    });
    assert.equal(answer.status, 201);
  }
  await eventually(async () => {
    const found = await server.get('/search?q=heron', authorization);
    assert.equal(found.total, 2);
  });
});
after(async () => {
  await server.stop();
  await closeBrowser();
});

async function signIn(page, token) {
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function openAs(token, path = '/') {
  const page = await openPage(server, { path: null });
  page.allow(expected401);
  await page.goto(path);
  await signIn(page, token);
  await page.getByRole('navigation', { name: 'Main' }).waitFor();
  return page;
}

test('nothing is shown before a token is', async () => {
  const page = await openPage(server, { path: null });
  page.allow(expected401);
  await page.goto('/search?q=heron');
  await page.getByText('This server asks who you are').waitFor();
  await axe(page);
  assert.ok(!(await page.content()).includes('secret.txt'));
  await signIn(page, 'quern_0000000000000000000000000000000000000000');
  await page.getByRole('alert').waitFor();
  assert.match(await page.getByRole('alert').innerText(), /not known here, or was revoked/);
  await page.done();
});

test('after it the page is the one that was asked for, also after a reload', async () => {
  const page = await openAs(tokens.admin, '/search?q=heron');
  await page.locator('.hit').nth(1).waitFor();
  assert.equal(await page.locator('.hit').count(), 2);
  await page.reload();
  await page.locator('.hit').nth(1).waitFor();
  assert.equal(await page.evaluate(() => document.cookie), '', 'scripts must not see the token');
  assert.equal(await page.evaluate(() => JSON.stringify({ ...localStorage })).then((text) => text.includes('quern_0') || text.includes(tokens.admin)), false);
  await page.done();
});

test('a reader is offered nothing that a reader may not do', async () => {
  const page = await openAs(tokens.reader);
  await page.getByText('Collections').first().waitFor();
  assert.equal(await page.getByRole('button', { name: 'Choose files' }).count(), 0);
  await page.goto('/collections/leak');
  await page.getByRole('heading', { name: 'leak' }).waitFor();
  assert.equal(await page.getByRole('button', { name: /Delete/ }).count(), 0);
  await page.done();
});

test('a token for one collection sees that one, adds to it, and hears of it', async () => {
  const page = await openAs(tokens.leak);
  await page.getByRole('link', { name: /^leak/ }).first().waitFor();
  assert.ok(!(await page.locator('main').innerText()).includes('secret'));
  await page.goto('/search?q=heron');
  await page.locator('.hit').first().waitFor();
  assert.equal(await page.locator('.hit').count(), 1);
  await page.goto('/');
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Choose files' }).click();
  await (await chooser).setFiles([{ name: 'more.txt', mimeType: 'text/plain', buffer: Buffer.from('a bittern') }]);
  await page.waitForURL(/\/jobs\/\d+$/);
  await page.getByText(/^Done/).first().waitFor();
  await page.done();
});

test('signing out ends it, and so does revoking the token', async () => {
  const page = await openAs(tokens.reader);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('This server asks who you are').waitFor();
  await signIn(page, tokens.reader);
  await page.getByRole('navigation', { name: 'Main' }).waitFor();
  const listed = quern('token', 'list', '--data', server.data, '--json').trim().split('\n').map((line) => JSON.parse(line));
  const mine = listed.find((one) => one.role === 'reader');
  quern('token', 'revoke', '--data', server.data, String(mine.token));
  await eventually(async () => {
    await page.goto('/');
    await page.getByText('This server asks who you are').waitFor({ timeout: 1000 });
  });
  await page.done();
});
