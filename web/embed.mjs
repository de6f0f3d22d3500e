// node embed.mjs DIST OUTPUT.cc: turns the built files into a table of C++ (src/api/web_assets.h), each as it is
// and compressed. The assembler takes the bytes in, so that nothing has to be spelled out.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';

const types = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  gif: 'image/gif',
  png: 'image/png',
  wasm: 'application/wasm',
  json: 'application/json',
  bcmap: 'application/octet-stream',
  pfb: 'application/octet-stream',
  ttf: 'font/ttf',
};

function* filesUnder(folder, path = '') {
  for (const name of readdirSync(join(folder, path)).sort()) {
    const inner = `${path}/${name}`;
    if (statSync(join(folder, inner)).isDirectory()) yield* filesUnder(folder, inner);
    else yield inner;
  }
}

function take(symbol, file) {
  return `asm(R"(
  .section .rodata
  .global ${symbol}
  .global ${symbol}_end
${symbol}:
  .incbin "${file}"
${symbol}_end:
  .byte 0
  .previous
)");
extern "C" const char ${symbol}[];
extern "C" const char ${symbol}_end[];
`;
}

const view = (symbol) => `std::string_view(${symbol}, ${symbol}_end - ${symbol})`;

function main(dist, output) {
  mkdirSync(dirname(output), { recursive: true });
  let data = '';
  let table = '';
  let number = 0;
  for (const path of filesUnder(dist)) {
    const isLicence = /\/LICENSE[A-Z_]*$/.test(path);
    const type = isLicence ? 'text/plain; charset=utf-8' : types[path.slice(path.lastIndexOf('.') + 1)];
    if (type === undefined) throw new Error(`${path}: no content type is known for it; see web/embed.mjs`);
    const bytes = readFileSync(join(dist, path));
    const etag = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
    const symbol = `quern_web_${number++}`;
    data += `// ${etag}\n` + take(symbol, resolve(join(dist, path)));
    const compressed = gzipSync(bytes, { level: 9 });
    let gzip = '{}';
    if (compressed.length < bytes.length * 0.9) {
      const file = `${resolve(output)}.${number}.gz`;
      writeFileSync(file, compressed);
      data += take(`${symbol}_gz`, file);
      gzip = view(`${symbol}_gz`);
    }
    table += `      {"${path}", "${type}", "\\"${etag}\\"", ${view(symbol)}, ${gzip}},\n`;
  }
  if (!table.includes('"/index.html"')) throw new Error(`${dist} has no index.html`);
  writeFileSync(output, `#include "api/web_assets.h"

${data}
namespace quern::api {

std::span<const WebAsset> web_assets() {
  static const WebAsset all[] = {
${table}  };
  return all;
}

}  // namespace quern::api
`);
}

main(process.argv[2], process.argv[3]);
