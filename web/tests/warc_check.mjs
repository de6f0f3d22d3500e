// Reads WARC files with warcio, a reader that is not ours, checks every digest, and says what is in them.
//
//   node warc_check.mjs FILE...     a JSON array of records; exit 1 where a digest is wrong
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { WARCParser } from 'warcio';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

function base32(bytes) {
  let text = '';
  let bits = 0n;
  for (const byte of bytes) bits = (bits << 8n) | BigInt(byte);
  for (let left = bytes.length * 8; left > 0; left -= 5) text += alphabet[Number((bits >> BigInt(left - 5)) & 31n)];
  return text;
}

const sha1 = (bytes) => `sha1:${base32(createHash('sha1').update(bytes).digest())}`;

async function allBytes(reader) {
  const chunks = [];
  for await (const chunk of reader) chunks.push(chunk);
  return Buffer.concat(chunks);
}

// What the digests of a record are, and what they should be: 'right', 'wrong' or 'absent'.
function judged(claimed, bytes) {
  if (!claimed) return 'absent';
  return claimed === sha1(bytes) ? 'right' : 'wrong';
}

async function readBlocks(file) {
  const records = [];
  const parser = new WARCParser(createReadStream(file), { keepHeadersCase: true, parseHttp: false });
  for await (const record of parser) {
    const block = await allBytes(record.reader);
    const payload = block.subarray(block.indexOf('\r\n\r\n') + 4);
    records.push({
      type: record.warcType,
      url: record.warcTargetURI,
      headers: Object.fromEntries([...record.warcHeaders.headers].map(([name, value]) => [name.toLowerCase(), value])),
      version: record.warcHeaders.statusline,
      block: judged(record.warcBlockDigest, block),
      // A revisit names the payload of another capture.
      payload: record.warcType === 'revisit' ? 'elsewhere' : judged(record.warcPayloadDigest, payload),
      bytes: block.length,
      offset: parser.offset,
      length: parser.recordLength,
    });
  }
  return records;
}

// The same file as a browser would see it: HTTP parsed, content decoded.
async function readContents(file) {
  const contents = [];
  for await (const record of new WARCParser(createReadStream(file), { keepHeadersCase: true })) {
    const content = Buffer.from(await record.readFully(true));
    contents.push({
      status: record.httpHeaders?.statusCode,
      http: record.httpHeaders ? [...record.httpHeaders.headers] : [],
      contentBytes: content.length,
      contentStart: content.subarray(0, 40).toString(),
    });
  }
  return contents;
}

export async function readWarc(file) {
  const blocks = await readBlocks(file);
  const contents = await readContents(file);
  if (blocks.length !== contents.length) throw new Error(`${file}: ${blocks.length} records, then ${contents.length}`);
  return blocks.map((block, at) => ({ ...block, ...contents[at] }));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const records = (await Promise.all(process.argv.slice(2).map(readWarc))).flat();
  console.log(JSON.stringify(records, null, 2));
  if (records.some(({ block, payload }) => block === 'wrong' || payload === 'wrong')) process.exitCode = 1;
}
