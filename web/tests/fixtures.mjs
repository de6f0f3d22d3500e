// Files that the tests give to the program, made by ourselves. support.mjs tells what each is for.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const folders = [];
export function temporary(name = 'quern-web-') {
  const folder = mkdtempSync(join(tmpdir(), name));
  folders.push(folder);
  return folder;
}
export function removeTemporary() {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}

export function makeFolder(files, name = 'dropped') {
  const folder = join(temporary(), name);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

const crcTable = Array.from({ length: 256 }, (_, n) => {
  let crc = n;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc >>> 0;
});
function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = crcTable[(crc ^ byte) & 0xff] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

// The fields that the head of a member and its line in the directory share: stored, names in UTF-8.
function zipFields(name, content) {
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(20, 0);
  fields.writeUInt16LE(0x0800, 2);
  fields.writeUInt16LE(0x21, 8); // 1980-01-01
  fields.writeUInt32LE(crc32(content), 10);
  fields.writeUInt32LE(content.length, 14);
  fields.writeUInt32LE(content.length, 18);
  fields.writeUInt16LE(name.length, 22);
  return fields;
}

export function zipOf(files) {
  const heads = [];
  const directory = [];
  let offset = 0;
  for (const [path, given] of Object.entries(files)) {
    const name = Buffer.from(path);
    const content = Buffer.from(given);
    const fields = zipFields(name, content);
    const line = Buffer.alloc(14);
    line.writeUInt32LE(offset, 10);
    directory.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), fields, line, name);
    heads.push(Buffer.from('PK\x03\x04', 'latin1'), fields, name, content);
    offset += 4 + fields.length + name.length + content.length;
  }
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(Object.keys(files).length, 8);
  end.writeUInt16LE(Object.keys(files).length, 10);
  end.writeUInt32LE(Buffer.concat(directory).length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...heads, ...directory, end]);
}

// Text that fills several pages. `words`: { 3: 'heron' } puts that word well inside the third part of it.
export function longText({ pages = 5, words = {}, linesPerPage = 56 } = {}) {
  const lines = [];
  for (let page = 1; page <= pages; page++) {
    for (let line = 0; line < linesPerPage; line++) {
      const word = line === Math.floor(linesPerPage / 2) ? words[page] : undefined;
      lines.push(`Line ${line + 1} of part ${page}: ${word ?? 'the river keeps its own slow time'}.`);
    }
  }
  return lines.join('\n') + '\n';
}
