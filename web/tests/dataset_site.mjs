// A museum on this machine that publishes datasets, as schema.org describes them, and what goes wrong with each.
//
//   const site = await startDatasets()
//     site.url(name)       the landing page: good, bad (a file is of another size than it says), slow (a file that never
//                          ends until released), none (a page without a dataset)
//     site.env             for startServer(): where all connections go, and that they may
//     site.mend()          the bad dataset is a good one from now on
//     site.release()       the slow one goes on
//     site.asked(path)     how often a path was asked for
//     site.stop()
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';

const host = 'museum.test';
export const files = {
  'table.csv': 'year,level\n1953,455\n1962,570\n',
  'notes.txt': 'The gauge at the quay is called Kraanvogel.\n',
  'empty.bin': '',
};

export async function startDatasets() {
  const counts = new Map();
  const waiting = new Set();
  let mended = false;
  let released = false;
  const part = (set, name, size) => ({
    '@type': 'DataDownload', name, contentUrl: `http://${host}/${set}/${name}`, contentSize: String(size),
    sha256: mended || set === 'good' ? createHash('sha256').update(files[name]).digest('hex') : undefined,
  });
  const page = (set) => {
    const sizes = Object.entries(files).map(([name, text]) => part(set, name, text.length + (set === 'bad' && !mended && name === 'notes.txt' ? 7 : 0)));
    const dataset = { '@context': 'https://schema.org', '@type': 'Dataset', name: `Levels, ${set}`, identifier: `levels-${set}`, distribution: sizes };
    const script = set === 'none' ? '' : `<script type="application/ld+json">${JSON.stringify(dataset)}</script>`;
    return `<!doctype html><html><head><title>Levels, ${set}</title><meta name="citation_title" content="Levels, ${set}">${script}</head><body>Levels</body></html>`;
  };
  const server = createServer((request, response) => {
    counts.set(request.url, (counts.get(request.url) ?? 0) + 1);
    const [, set, name] = request.url.split('/');
    if (set === 'page') {
      response.setHeader('Content-Type', 'text/html; charset=utf-8');
      response.end(page(name));
    } else if (files[name] === undefined) {
      response.statusCode = 404;
      response.end();
    } else {
      response.setHeader('Content-Type', 'application/octet-stream');
      response.setHeader('ETag', `"${mended}-${name}"`);
      response.setHeader('Content-Length', files[name].length);
      if (set === 'slow' && name === 'table.csv' && !released) {
        response.write(files[name].slice(0, 5));
        waiting.add(() => response.end(files[name].slice(5)));
      } else {
        response.end(files[name]);
      }
    }
  });
  const port = await new Promise((done) => server.listen(0, '127.0.0.1', () => done(server.address().port)));
  return {
    url: (name) => `http://${host}/page/${name}`,
    env: { QUERN_CONNECT_TO: `*=127.0.0.1:${port}`, QUERN_ALLOW_PRIVATE: '*' },
    mend: () => (mended = true),
    release: () => {
      released = true;
      for (const end of waiting) end();
    },
    asked: (path) => counts.get(path) ?? 0,
    stop: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
