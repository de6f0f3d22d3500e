// People go away and come back: to a list of hits, to a search half typed, to a page while the server is away. And
// words of scripts without blanks are marked as others are.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { closeBrowser, drop, eventually, inOrder, openPage, startServer } from './support.mjs';

const herons = 50;
const step = inOrder(() => page);
let server;
let page;

before(async () => {
  server = await startServer();
  page = await openPage(server);
  const files = [{ name: '报告.txt', content: '这是关于二〇二六年度预算的报告。政府预算增加了。' }];
  for (let n = 0; n < herons; n++) files.push({ name: `heron ${n}.txt`, content: `Note ${n} tells of a heron.` });
  await drop(page, files);
  await page.waitForURL(/\/jobs\/\d+$/);
  await server.jobDone(Number(page.url().split('/').pop()));
  await eventually(async () => assert.equal((await server.get('/search?q=heron')).total, herons));
});
after(async () => {
  await closeBrowser();
  await server?.stop();
});

const hits = () => page.getByRole('list', { name: 'Documents', exact: true }).getByRole('listitem');
const box = () => page.getByRole('searchbox', { name: /^Search / });
const total = () => page.locator('.total').textContent();
const matches = () => page.locator('[data-test=matches]').textContent();

step('more hits come as long as there are any', async () => {
  await page.goto('/search?q=heron');
  await eventually(async () => assert.equal(await hits().count(), 20));
  await page.getByRole('button', { name: 'Show more' }).click();
  await eventually(async () => assert.equal(await hits().count(), 40));
  await page.getByRole('button', { name: 'Show more' }).click();
  await eventually(async () => assert.equal(await hits().count(), herons));
  assert.equal(await page.getByRole('button', { name: 'Show more' }).count(), 0);
});

step('whoever comes back from a hit finds the list as it was', async () => {
  const link = hits().nth(45).getByRole('link');
  await link.scrollIntoViewIfNeeded();
  const y = await page.evaluate(() => window.scrollY);
  assert.ok(y > 0);
  await link.click();
  await page.getByText(`46 of ${herons}`).waitFor();
  await page.goBack();
  await eventually(async () => assert.equal(await hits().count(), herons));
  await eventually(async () => assert.equal(await page.evaluate(() => window.scrollY), y));
});

step('a word half typed finds, marks, and can be come back to', async () => {
  await page.goto('/search');
  await box().pressSequentially('hero');
  await eventually(async () => assert.equal(await total(), `${herons} documents`));
  await hits().first().getByRole('link').click();
  await eventually(async () => assert.equal(await matches(), '1 of 1'));
  await page.goBack();
  await eventually(async () => assert.equal(await total(), `${herons} documents`));
  assert.equal(await box().inputValue(), 'hero');
});

step('a word between others without blanks is marked', async () => {
  await page.goto('/search?q=预算');
  await hits().first().getByRole('link').click();
  await eventually(async () => assert.equal(await matches(), '1 of 2'));
  await page.getByRole('button', { name: 'Text', exact: true }).click();
  const marks = page.getByRole('region', { name: 'Text' }).locator('mark');
  await eventually(async () => assert.deepEqual(await marks.allTextContents(), ['预算', '预算']));
  page.assertClean();
});

step('hits in a text are walked by buttons, round and round', async () => {
  const walked = async (told, current) => {
    await eventually(async () => assert.equal(await page.locator('[data-test=marks]').textContent(), told));
    await eventually(async () => {
      const classes = await page.getByRole('region', { name: 'Text' }).locator('mark').evaluateAll((all) => all.map((one) => one.className));
      assert.deepEqual(classes.map((name) => name === 'current'), current);
    });
  };
  await walked('1 of 2', [true, false]);
  await page.getByRole('button', { name: 'Next hit' }).click();
  await walked('2 of 2', [false, true]);
  await page.keyboard.press('n');
  await walked('1 of 2', [true, false]);
  await page.getByRole('button', { name: 'Previous hit' }).click();
  await walked('2 of 2', [false, true]);
  page.assertClean();
});

step('a text that cannot be had is told, with what to do', async () => {
  page.allow(/status of 500/);
  await page.route('**/api/v1/files/*/text', (route) => route.fulfill({ status: 500, contentType: 'application/problem+json', body: '{"detail":"the text is out of order"}' }));
  await page.reload();
  const alert = page.getByRole('alert');
  await alert.getByText('the text is out of order').waitFor();
  await page.unroute('**/api/v1/files/*/text');
  await alert.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('region', { name: 'Text' }).locator('mark').first().waitFor();
});

step('one of many collections is found by the beginning of its name', async () => {
  for (let n = 0; n < 70; n++) await server.post('/jobs', { collection: `shelf-${String(n).padStart(2, '0')}`, key: `shelf ${n}`, source: 'a test' });
  await page.goto('/collections');
  const cards = page.locator('.collection-card');
  await eventually(async () => assert.equal(await cards.count(), 60));
  await page.getByRole('button', { name: 'Show more collections' }).click();
  await eventually(async () => assert.equal(await cards.count(), 71));
  await page.getByRole('searchbox', { name: 'Collections whose name begins with' }).pressSequentially('shelf-6');
  await eventually(async () => assert.deepEqual((await cards.getByRole('heading').allTextContents()).map((name) => name.slice(-2)), ['60', '61', '62', '63', '64', '65', '66', '67', '68', '69']));
  await page.waitForURL(/begins=shelf-6$/);
  await page.reload();
  await eventually(async () => assert.equal(await cards.count(), 10));
  await page.getByRole('searchbox', { name: 'Collections whose name begins with' }).fill('nowhere');
  await page.getByText('No collection has a name that begins with “nowhere”').waitFor();
  await page.goto('/');
  await page.getByRole('link', { name: 'All 71' }).waitFor();
  assert.equal(await page.locator('.card').count(), 12);
  page.assertClean();
});

step('a page that is opened while the server is away comes when it is back', async () => {
  await page.goto('/');
  await page.getByRole('heading', { name: 'Collections' }).waitFor();
  page.allow(/preload CSS|dynamically imported module/);
  await page.serverDown(async () => {
    await server.kill();
    await page.getByText('The server does not answer. Nothing is lost').waitFor();
    await page.getByRole('link', { name: 'Errors', exact: true }).click();
    await page.getByText('Loading').waitFor();
    await server.start();
    await page.getByRole('heading', { level: 1, name: 'Errors' }).waitFor();
  });
  page.assertClean();
});

step('an upload ends with its import', async () => {
  await page.goto('/');
  page.allow(/status of 409/);
  const many = [];
  for (let n = 0; n < 400; n++) many.push({ name: `coot ${n}.txt`, content: `Coot ${n}.` });
  await drop(page, many);
  await page.waitForURL(/\/jobs\/\d+$/);
  await server.post(`/jobs/${page.url().split('/').pop()}/cancel`);
  const uploads = page.getByRole('region', { name: 'Uploads' });
  await uploads.getByText('The import was ended.').waitFor();
  await uploads.getByRole('button', { name: 'Close' }).click();
  await uploads.waitFor({ state: 'detached' });
  await page.done();
});
