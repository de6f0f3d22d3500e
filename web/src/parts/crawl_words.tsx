// What the pages of crawls say.
import { baseName, count, duration, isWebAddress, plural } from '../core/format';
import type { Capture, Crawl, CrawlPage } from '../core/types';
import { Badge } from './state';

export const pageStates: CrawlPage['state'][] = ['waiting', 'fetched', 'in', 'out'];
const stateNames: Record<CrawlPage['state'], string> = {
  waiting: 'Waiting',
  fetched: 'Being read',
  in: 'In',
  out: 'Out',
};
const stateTones: Record<CrawlPage['state'], string> = {
  waiting: '',
  fetched: 'running',
  in: 'done',
  out: 'warn',
};

export const stateName = (state: CrawlPage['state']): string => stateNames[state] ?? state;

export function PageBadge({ state }: { state: CrawlPage['state'] }) {
  return <Badge tone={stateTones[state]}>{stateName(state)}</Badge>;
}

// Why a page is out, by the names that the server has for it.
export const whyKinds: [kind: string, name: string][] = [
  ['robots', 'robots.txt forbids it'],
  ['noindex', 'it asks not to be indexed'],
  ['status', 'its server says that it is not there'],
  ['fetch', 'it could not be fetched'],
  ['redirect', 'it leads elsewhere'],
  ['canonical', 'it is a copy of another page'],
  ['type', 'it is no page and no document'],
  ['list', 'it is a list of addresses'],
  ['limit', 'it is over a limit'],
  ['address', 'it lies in a network of its own'],
  ['error', 'it could not be read'],
  ['gone', 'it has gone'],
  ['canceled', 'the crawl was canceled'],
];

const withoutScheme = (url: string): string => url.replace(/^https?:\/\//, '').replace(/\/$/, '');

// Pages that were read back from a web archive: nobody was asked.
export const isFromArchive = ({ source }: Crawl): boolean => source !== '' && !isWebAddress(source);

export function crawlName(crawl: Crawl): string {
  if (isFromArchive(crawl)) return `archive ${baseName(crawl.source)}`;
  const first = withoutScheme(crawl.urls[0] ?? '');
  return crawl.urls.length <= 1 ? first : `${first} and ${count(crawl.urls.length - 1)} more`;
}

export const crawlTitle = (crawl: Crawl): string => (isFromArchive(crawl) ? `Pages of the ${crawlName(crawl)}` : `Crawl of ${crawlName(crawl)}`);

const scopeWords: Record<string, string> = { host: 'these sites only', domain: 'their whole domains' };
export const scopeName = (scope: string): string => scopeWords[scope] ?? `what begins with ${scope}`;

export const periodName = (seconds: number): string => (seconds === 0 ? 'once' : `every ${duration(seconds)}`);

export function sumsInWords({ pages }: Crawl): string {
  const words = [`${count(pages.in)} in`, `${count(pages.out)} out`];
  if (pages.failed > 0) words.push(`${count(pages.failed)} of them failed`);
  if (pages.open > 0) words.push(`${count(pages.open)} open`);
  return `${plural(pages.admitted, 'page')}: ${words.join(', ')}`;
}

export function capturesHref(url: string, collection: string, timestamp?: string): string {
  const query = new URLSearchParams({ url });
  if (collection !== '') query.set('collection', collection);
  if (timestamp) query.set('at', timestamp);
  return `/captures-of?${query}`;
}

// What a browser can show in a frame that may do nothing; the rest is downloaded.
export function isViewable({ type, status }: Capture): boolean {
  return /^(text\/|image\/|application\/xhtml)/.test(type) || (type === '' && status >= 300);
}
