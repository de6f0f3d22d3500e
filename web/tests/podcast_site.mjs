// A podcast on this machine: a feed, its episodes and some clips, all made by ourselves.
//
//   const site = await startPodcast()
//     site.feed, site.clip(name)   addresses
//     site.planted                 what is where: { episode title: { clip name: [seconds] } }
//     site.bytes(path)             what lies there, for those who drop files
//     site.publish()               the feed has one more episode from now on
//     site.env                     for startServer(): where all connections go, and that they may
//     site.asked(path)             how often a path was asked for
//     site.stop()
import { createServer } from 'node:http';
import { plant, quietTalk, tune, wavOf } from './sound_fixture.mjs';

const host = 'podcast.test';
const clips = { jingle: tune(101, 1.6), drop: tune(202, 1.3), never: tune(303, 1.4), silence: new Float32Array(22_050) };
const planted = {
  'The upper lock': { jingle: [2.5, 17.25], drop: [9.75] },
  'Three barges': { drop: [4.5] },
};
const later = { 'The flood': { jingle: [6.25] } };
const lengths = { 'The upper lock': 24, 'Three barges': 15, 'The flood': 12 };

function episodeOf(title, where, seed) {
  const samples = quietTalk(seed, lengths[title]);
  for (const [name, places] of Object.entries(where)) for (const at of places) plant(samples, clips[name], at);
  return wavOf(samples);
}

const slug = (title) => title.toLowerCase().replaceAll(' ', '-');

function feedOf(titles) {
  const items = titles.map((title, index) => `<item><title>${title}</title><guid isPermaLink="false">id-${slug(title)}</guid>
    <pubDate>Mon, 0${index + 1} Jun 2026 08:00:00 GMT</pubDate><description>About ${title.toLowerCase()}.</description>
    <enclosure url="/episodes/${slug(title)}.wav" length="1" type="audio/wav"/></item>`);
  return `<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>The lock keepers</title>
    <link>http://${host}/</link><description>Talk by the water.</description>${items.join('')}</channel></rss>`;
}

export async function startPodcast() {
  const titles = Object.keys(planted);
  const files = new Map();
  [...Object.entries(planted), ...Object.entries(later)].forEach(([title, where], index) => files.set(`/episodes/${slug(title)}.wav`, episodeOf(title, where, 11 + index)));
  for (const [name, samples] of Object.entries(clips)) files.set(`/clips/${name}.wav`, wavOf(samples));
  const counts = new Map();
  const server = createServer((request, response) => {
    counts.set(request.url, (counts.get(request.url) ?? 0) + 1);
    const body = request.url === '/feed.xml' ? Buffer.from(feedOf(titles)) : files.get(request.url);
    response.statusCode = body ? 200 : 404;
    response.setHeader('Content-Type', request.url.endsWith('.xml') ? 'application/rss+xml' : body ? 'audio/wav' : 'text/plain');
    response.end(body ?? 'not here');
  });
  const port = await new Promise((done) => server.listen(0, '127.0.0.1', () => done(server.address().port)));
  return {
    feed: `http://${host}/feed.xml`,
    clip: (name) => `http://${host}/clips/${name}.wav`,
    planted,
    later,
    bytes: (path) => files.get(path),
    publish: () => titles.push(...Object.keys(later)),
    env: { QUERN_CONNECT_TO: `*=127.0.0.1:${port}`, QUERN_ALLOW_PRIVATE: '*' },
    asked: (path) => counts.get(path) ?? 0,
    stop: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
