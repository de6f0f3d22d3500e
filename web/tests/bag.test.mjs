// The bags we write, read by a checker that is made of RFC 8493 alone, and their metadata by ro-crate, a validator
// that is not ours.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { checkBag } from './bag_check.mjs';

const require = createRequire(import.meta.url);
// The validator reads the context of a crate from its address; here it gets the copy that it brings along.
const contextUrl = 'https://w3id.org/ro/crate/1.1/context';
globalThis.fetch = async (url) => {
  assert.equal(url, contextUrl);
  return Response.json(require('ro-crate/lib/context.json'));
};
const { Validator } = require('ro-crate');
const folder = mkdtempSync(join(tmpdir(), 'quern-bag-'));
const bag = join(folder, 'awkward');
after(() => rmSync(folder, { recursive: true, force: true }));
before(() => execFileSync(join(process.env.QUERN_BIN, 'bag_samples'), [folder]));

test('it is complete and valid', () => {
  const seen = checkBag(bag);
  assert.deepEqual(seen.problems, []);
  assert.equal(seen.files.length, 15 + 800 + 1);
  assert.deepEqual(seen.manifests.sort(), ['md5', 'sha256', 'sha512'].flatMap((name) => [`manifest-${name}.txt`, `tagmanifest-${name}.txt`]).sort());
  assert.ok(seen.tags.includes('provenance/1.json'));
});

test('awkward names are as they were, or told', () => {
  const at = (path) => readFileSync(join(bag, 'data/datasets/zenodo-1028059', path), 'utf8');
  assert.equal(at('deep/er/and/deeper/50%.txt'), 'fifty');
  assert.equal(at('line\nend\r.txt'), 'lines');
  assert.equal(at('%0A'), 'not a line end');
  assert.equal(at('Grüße/日本 😀.txt'), 'unicode');
  assert.equal(at('caf%E9'), 'latin');
  assert.equal(at('%2E%2E/%2E%2E/escape'), 'stays');
  assert.equal(at('  blanks  '), 'blanks');
  assert.equal(at('twice') + at('twice~2') + at('twice~3/three'), 'onetwothree');
  const lines = readFileSync(join(bag, 'manifest-sha256.txt'), 'utf8');
  assert.match(lines, /\/line%0Aend%0D\.txt\n/);
  assert.match(lines, /\/%250A\n/);
});

test('it says where it is from', () => {
  const { info } = checkBag(bag);
  const of = (label) => info.filter(([one]) => one === label).map(([, value]) => value);
  assert.deepEqual(of('Source-Organization'), ['The archive of here']);
  assert.deepEqual(of('External-Identifier'), ['doi:10.5281/zenodo.1028059', '7']);
  assert.deepEqual(of('Bagging-Date'), ['2026-11-16']);
});

test('its crate is one, and describes every file that is there', async () => {
  const seen = checkBag(bag);
  const validator = new Validator();
  validator.parseJSON(readFileSync(join(bag, 'data/ro-crate-metadata.json'), 'utf8'));
  await validator.crate.resolveContext();
  await validator.validate();
  const paths = seen.files.map((path) => path.slice('data/'.length)).filter((path) => path !== 'ro-crate-metadata.json');
  const escaped = (path) => path.split('/').map((part) => encodeURIComponent(part).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)).join('/');
  const there = Object.fromEntries([...paths.map(escaped), 'datasets/zenodo-1028059/', 'datasets/figshare.com_7/'].map((path) => [path, { exists: true }]));
  validator.checkFiles(there);
  assert.deepEqual(validator.results.filter(({ status }) => status !== 'success' && status !== 'info'), []);
  const graph = JSON.parse(readFileSync(join(bag, 'data/ro-crate-metadata.json'), 'utf8'))['@graph'];
  assert.equal(new Set(graph.map((entity) => entity['@id'])).size, graph.length, 'two entities have one id');
  const ids = new Set(graph.map((entity) => entity['@id']));
  for (const entity of graph) for (const part of entity.hasPart ?? []) assert.ok(ids.has(part['@id']), part['@id']);
});

test('as a zip file it is the same', () => {
  execFileSync('python3', ['-m', 'zipfile', '-e', join(folder, 'zipped.zip'), join(folder, 'unpacked')]);
  // That program has no names with these in them, on any system: what they are called there is its own affair.
  const problems = checkBag(join(folder, 'unpacked', 'zipped')).problems.filter((problem) => !/[\r\n]/.test(problem));
  assert.deepEqual(problems, []);
});

test('the checker sees what is wrong', () => {
  const broken = (change, restore, expected) => {
    change();
    assert.match(checkBag(bag).problems.join('\n'), expected);
    restore();
    assert.deepEqual(checkBag(bag).problems, []);
  };
  const file = join(bag, 'data/datasets/zenodo-1028059/levels.csv');
  const was = readFileSync(file);
  broken(() => writeFileSync(file, '1,3'), () => writeFileSync(file, was), /levels\.csv has another sha256/);
  broken(() => appendFileSync(file, '\n'), () => writeFileSync(file, was), /Payload-Oxum/);
  broken(() => renameSync(file, `${file}.bak`), () => renameSync(`${file}.bak`, file), /levels\.csv is not there/);
  broken(() => writeFileSync(`${file}.more`, ''), () => rmSync(`${file}.more`), /levels\.csv\.more is not listed/);
  const tag = join(bag, 'bag-info.txt');
  const info = readFileSync(tag);
  broken(() => appendFileSync(tag, 'X: y\n'), () => writeFileSync(tag, info), /bag-info\.txt has another md5/);
});
