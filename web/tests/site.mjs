// Sites to crawl, all on this machine.
//
//   const site = await startSite({ 'own.test': (path) => ({ type, body, status }) })
//       quern_test_site with its many hosts, and hosts of the test's own: null is a page that is not there.
//     site.env                 for startServer(): where all connections go, and that they may
//     site.set(host, key, value) a setting of a host, see tests/support/test_site
//     site.requests(host)      how often a host of the site was asked
//     site.stop()
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { bin } from './support.mjs';

function listen(server) {
  return new Promise((done) => server.listen(0, '127.0.0.1', () => done(server.address().port)));
}

async function startOwn(hosts) {
  const server = createServer((request, response) => {
    const answer = hosts[request.headers.host.split(':')[0]]?.(request.url) ?? null;
    response.statusCode = answer?.status ?? (answer === null ? 404 : 200);
    response.setHeader('Content-Type', answer?.type ?? 'text/html; charset=utf-8');
    response.end(answer?.body ?? '');
  });
  return { server, port: await listen(server) };
}

function firstLine(child) {
  return new Promise((done, fail) => {
    child.once('error', fail);
    child.once('exit', () => fail(new Error('the site ended at once')));
    createInterface({ input: child.stdout }).once('line', done);
  });
}

export async function startSite(hosts = {}) {
  const child = spawn(join(bin, 'quern_test_site'), [], { stdio: ['ignore', 'pipe', 'inherit'] });
  const onExit = () => child.kill('SIGKILL');
  process.on('exit', onExit);
  const address = (await firstLine(child)).replace(/^listening /, '');
  const own = await startOwn(hosts);
  const control = async (method, path) => {
    const answer = await fetch(`http://${address}${path}`, { method });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status}`);
    return answer.text();
  };
  const mapped = Object.keys(hosts).map((host) => `${host}=127.0.0.1:${own.port}`);
  return {
    env: { QUERN_CONNECT_TO: [...mapped, `*=${address}`].join(','), QUERN_ALLOW_PRIVATE: '*' },
    set: (host, key, value) => control('POST', `/__set?${new URLSearchParams({ host, key, value })}`),
    requests: async (host) => (await control('GET', '/__log')).split('\n').filter((line) => line.includes(`"host":"${host}"`)).length,
    stop: async () => {
      own.server.closeAllConnections();
      own.server.close();
      process.off('exit', onExit);
      const ended = new Promise((done) => child.once('exit', done));
      child.kill('SIGKILL');
      await ended;
    },
  };
}
