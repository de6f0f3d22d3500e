// Checks bags by RFC 8493 alone: that they are complete and valid (section 3), whoever made them.
//
//   node bag_check.mjs FOLDER...    says what is in each; exit 1 where one is not valid
//   checkBag(folder)                { files, tags, info, problems }, by path; no problems: it is valid
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const declaration = /^BagIt-Version: (\d+\.\d+)\r?\nTag-File-Character-Encoding: (\S+)\r?\n?$/;
const manifestName = /^(tag)?manifest-([a-z0-9]+)\.txt$/;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function filesBelow(folder, path = '') {
  const found = [];
  for (const name of readdirSync(join(folder, path))) {
    const one = path === '' ? name : `${path}/${name}`;
    const stat = lstatSync(join(folder, one));
    if (stat.isDirectory()) found.push(...filesBelow(folder, one));
    else found.push(stat.isFile() ? one : `${one} (neither a file nor a folder)`);
  }
  return found;
}

// 2.1.3: only CR, LF and the percent sign are escaped.
const decoded = (path) => path.replace(/%(0A|0D|25)/gi, (_, code) => String.fromCharCode(parseInt(code, 16)));

function readManifest(text, problems, name) {
  const listed = new Map();
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (line === '') continue;
    const parts = /^([0-9a-fA-F]+)[ \t]+(.*)$/.exec(line);
    if (!parts) {
      problems.push(`${name}: a line is none: ${line}`);
      continue;
    }
    const path = decoded(parts[2]);
    if (path.startsWith('/') || path.startsWith('~') || path.split('/').some((part) => part === '..' || part === '.' || part === '')) {
      problems.push(`${name}: ${path} leaves the bag`);
    }
    if (listed.has(path)) problems.push(`${name}: ${path} is there twice`);
    listed.set(path, parts[1].toLowerCase());
  }
  return listed;
}

// 2.2.2: "Label: value", a line that begins with white space goes on with the one before.
function readInfo(text, problems) {
  const info = [];
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (line === '') continue;
    if (/^[ \t]/.test(line) && info.length > 0) {
      info.at(-1)[1] += ` ${line.trim()}`;
      continue;
    }
    const parts = /^([^\s:][^:]*?):[ \t](.*)$/.exec(line);
    if (parts) info.push([parts[1], parts[2]]);
    else problems.push(`bag-info.txt: a line is none: ${line}`);
  }
  return info;
}

function checkDigests(folder, manifests, files, problems) {
  for (const { name, algorithm, listed, mustHave } of manifests) {
    for (const path of mustHave) if (!listed.has(path)) problems.push(`${name}: ${path} is not listed`);
    for (const [path, digest] of listed) {
      if (!files.includes(path)) {
        problems.push(`${name}: ${path} is not there`);
        continue;
      }
      const is = createHash(algorithm).update(readFileSync(join(folder, path))).digest('hex');
      if (is !== digest) problems.push(`${name}: ${path} has another ${algorithm}`);
    }
  }
}

export function checkBag(folder) {
  const problems = [];
  const files = filesBelow(folder);
  const text = (name) => {
    try {
      return utf8.decode(readFileSync(join(folder, name)));
    } catch (failure) {
      problems.push(`${name}: ${failure.message}`);
      return '';
    }
  };
  const said = declaration.exec(text('bagit.txt'));
  if (!said || said[1] !== '1.0' || said[2] !== 'UTF-8') problems.push('bagit.txt does not declare BagIt 1.0 in UTF-8');
  if (!existsSync(join(folder, 'data')) || !lstatSync(join(folder, 'data')).isDirectory()) problems.push('there is no folder data');
  const payload = files.filter((path) => path.startsWith('data/'));
  const tags = files.filter((path) => !path.startsWith('data/'));
  const manifests = tags.filter((path) => manifestName.test(path)).map((name) => {
    const [, tag, algorithm] = manifestName.exec(name);
    const listed = readManifest(text(name), problems, name);
    for (const path of listed.keys()) {
      if (tag && (path.startsWith('data/') || path.startsWith('tagmanifest-'))) problems.push(`${name}: ${path} must not be listed`);
      if (!tag && !path.startsWith('data/')) problems.push(`${name}: ${path} is no payload`);
    }
    const mustHave = tag ? tags.filter((path) => !path.startsWith('tagmanifest-')) : payload;
    return { name, tag: Boolean(tag), algorithm, listed, mustHave };
  });
  if (!manifests.some(({ tag }) => !tag)) problems.push('there is no manifest');
  checkDigests(folder, manifests, files, problems);
  const info = tags.includes('bag-info.txt') ? readInfo(text('bag-info.txt'), problems) : [];
  const oxum = info.find(([label]) => label.toLowerCase() === 'payload-oxum')?.[1];
  const bytes = payload.reduce((sum, path) => sum + lstatSync(join(folder, path)).size, 0);
  if (oxum !== undefined && oxum !== `${bytes}.${payload.length}`) problems.push(`Payload-Oxum is ${oxum}, and should be ${bytes}.${payload.length}`);
  return { files: payload, tags, manifests: manifests.map(({ name }) => name), info, problems };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const folder of process.argv.slice(2)) {
    const bag = checkBag(folder);
    console.log(`${folder}: ${bag.files.length} files, ${bag.problems.length === 0 ? 'valid' : 'not valid'}`);
    for (const problem of bag.problems) console.log(`  ${problem}`);
    if (bag.problems.length > 0) process.exitCode = 1;
  }
}
