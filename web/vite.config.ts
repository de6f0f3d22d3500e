import { readdirSync, readFileSync } from 'node:fs';
import { defineConfig, type Plugin } from 'vite';

// What pdf.js asks for when a PDF does not bring its own: character maps of Asian scripts, and fonts.
function pdfParts(): Plugin {
  return {
    name: 'pdf-parts',
    generateBundle() {
      for (const folder of ['cmaps', 'standard_fonts']) {
        const from = new URL(`node_modules/pdfjs-dist/${folder}/`, import.meta.url);
        for (const name of readdirSync(from)) {
          this.emitFile({ type: 'asset', fileName: `pdf/${folder}/${name}`, source: readFileSync(new URL(name, from)) });
        }
      }
    },
  };
}

// `npm run dev` shows the pages as they are edited, before a running `quern serve`.
const server = process.env.QUERN_SERVER ?? 'http://127.0.0.1:8080';
const toServer = {
  target: server,
  changeOrigin: true,
  // The server refuses pages of other origins; here the pages are its own.
  configure: (proxy: { on(event: string, then: (request: { removeHeader(name: string): void }) => void): void }) =>
    proxy.on('proxyReq', (request) => request.removeHeader('origin')),
};

export default defineConfig({
  plugins: [pdfParts()],
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact' },
  build: {
    target: 'es2022',
    // The server takes every file of this folder into the program; see cmake/embed_web.cmake.
    outDir: process.env.QUERN_WEB_OUT ?? 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1600,
  },
  server: { proxy: { '/api': toServer, '/captures/': toServer, '/research/media/': toServer, '/healthz': toServer } },
});
