// The archives we write, read by warcio: every record, every digest, every place.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { readWarc } from './warc_check.mjs';

const folder = mkdtempSync(join(tmpdir(), 'quern-warc-'));
after(() => rmSync(folder, { recursive: true, force: true }));

let records;
let places; // what the writer says: URL, file, offset, length, payload digest
before(async () => {
  const text = execFileSync(join(process.env.QUERN_BIN, 'warc_samples'), [folder]).toString();
  // One of the URLs has a line end in it, so lines are found by what begins them.
  places = text.split(/\n(?=https:)/).map((line) => line.trimEnd().split('\t'));
  const files = readdirSync(folder);
  assert.equal(files.length, 1);
  assert.equal(files[0], places[0][1]);
  records = await readWarc(join(folder, files[0]));
});

const named = (name, type = 'response') => {
  const found = records.filter((record) => record.type === type && record.url === `https://site.example/${name}`);
  assert.equal(found.length, 1, name);
  return found[0];
};

test('every record is there, with a right digest', () => {
  assert.equal(records.length, 1 + 2 * places.length);
  assert.equal(records[0].type, 'warcinfo');
  for (const record of records) {
    assert.equal(record.version, 'WARC/1.1');
    assert.equal(record.block, 'right', record.url);
    if (record.type === 'response') assert.equal(record.payload, 'right', record.url);
    assert.match(record.headers['warc-record-id'], /^<urn:uuid:[0-9a-f-]{36}>$/);
  }
  assert.equal(new Set(records.map(({ headers }) => headers['warc-record-id'])).size, records.length);
});

test('records lie where the writer says', () => {
  const answers = records.filter(({ type }) => type === 'response' || type === 'revisit');
  assert.deepEqual(
    answers.map(({ offset, length }) => [offset, length]),
    places.map(([, , offset, length]) => [Number(offset), Number(length)]),
  );
  assert.deepEqual(
    answers.map(({ headers }) => headers['warc-payload-digest']),
    places.map(([, , , , digest]) => digest),
  );
});

test('a request follows its response', () => {
  for (const [at, record] of records.entries()) {
    if (record.type !== 'request') continue;
    assert.equal(record.headers['warc-concurrent-to'], records[at - 1].headers['warc-record-id']);
    assert.equal(record.url, records[at - 1].url);
  }
});

test('contents are what was sent', () => {
  const plain = named('plain');
  assert.equal(plain.status, 200);
  assert.equal(plain.contentStart, '<p>Grüße</p>\n');
  assert.equal(plain.headers['warc-date'], '2026-11-16T06:00:00.123456Z');
  assert.equal(plain.headers['warc-ip-address'], '192.0.2.1');
  assert.deepEqual(plain.http.filter(([name]) => name === 'Set-Cookie'), [['Set-Cookie', 'a=1'], ['Set-Cookie', 'b=2']]);
  assert.equal(named('empty').status, 204);
  assert.equal(named('empty').contentBytes, 0);
  assert.equal(named('large').contentBytes, 2_288_890);
  assert.equal(named('gzip').contentStart, 'packed text');
  assert.equal(named('chunked').contentStart, 'put together');
  assert.equal(named('second-version').status, 404);
  assert.equal(named('second-version').contentStart, '\r\n\r\nWARC/1.0\r\n\r\n');
  assert.equal(named('grüße/日本').contentStart, 'unicode');
  assert.equal(named('a%20b%0D%0AX:%20y').contentStart, 'hostile');
  assert.equal(named('cut').headers['warc-truncated'], 'length');
});

test('a revisit names what it saw', () => {
  const plain = named('plain');
  for (const [name, profile, status] of [['same', 'identical-payload-digest', 200], ['unchanged', 'server-not-modified', 304]]) {
    const revisit = named(name, 'revisit');
    assert.equal(revisit.status, status);
    assert.equal(revisit.contentBytes, 0);
    assert.equal(revisit.headers['warc-profile'], `http://netpreserve.org/warc/1.1/revisit/${profile}`);
    assert.equal(revisit.headers['warc-refers-to-target-uri'], plain.url);
    assert.equal(revisit.headers['warc-refers-to-date'], plain.headers['warc-date']);
    assert.equal(revisit.headers['warc-payload-digest'], plain.headers['warc-payload-digest']);
  }
});
