// The sites of a crawl, and its pages with why each is in or out.
import type { Freshness } from '../core/hooks';
import { bytes, count, plural, typeName, when } from '../core/format';
import { address, go, usePlace, withQuery } from '../core/router';
import type { Crawl, CrawlPage, CrawlSite } from '../core/types';
import { capturesHref, PageBadge, pageStates, stateName, whyKinds } from './crawl_words';
import { useLonger } from './longer';
import { Await } from './state';

const sitesStep = 25;
const pagesStep = 50;
const refreshMs = 2000;

function freshnessOf(crawl: Crawl): Freshness {
  return {
    on: ['page.captured', 'job.finished'],
    when: (event) => event.data.job === crawl.job,
    everyMs: crawl.ended ? undefined : refreshMs,
  };
}

// -- sites --

function robotsOf({ robots }: CrawlSite): string {
  if (!robots) return 'not asked yet';
  if (robots.status >= 200 && robots.status < 300) return robots.bytes === 0 ? 'empty: all is allowed' : `read, ${bytes(robots.bytes)}`;
  if (robots.status >= 400 && robots.status < 500) return 'there is none: all is allowed';
  return robots.status === 0 ? 'no answer: nothing is fetched' : `answers ${robots.status}: nothing is fetched`;
}

function SiteRow({ site }: { site: CrawlSite }) {
  const { pages } = site;
  const waits = site.not_before_us !== undefined && site.not_before_us / 1000 > Date.now() + 1000;
  return (
    <tr>
      <td>
        <a href={withQuery({ site: site.site, state: null, why: null })}>{site.site}</a>
        {waits && <span class="said quiet">asked again {when(site.not_before_us)}</span>}
      </td>
      <td class="wide-only">{robotsOf(site)}</td>
      <td class="number">{count(pages.in)}</td>
      <td class="number">{count(pages.out)}</td>
      <td class="number">{pages.failed > 0 ? <span class="bad">{count(pages.failed)}</span> : 0}</td>
      <td class="number">{count(pages.open)}</td>
      <td class="number wide-only">{bytes(site.fetched_bytes)}</td>
    </tr>
  );
}

export function Sites({ crawl }: { crawl: Crawl }) {
  const list = useLonger<CrawlSite>(['crawls', crawl.job, 'sites'], {}, sitesStep, freshnessOf(crawl));
  return (
    <section class="panel" aria-labelledby="sites">
      <h2 id="sites">{plural(crawl.sites, 'site')}</h2>
      <Await from={list}>
        {({ items, more }) => (
          <>
            <div class="scroll-x" tabIndex={0} role="region" aria-label="Table: sites">
              <table class="sites">
                <thead>
                  <tr>
                    <th scope="col">Site</th>
                    <th scope="col" class="wide-only">robots.txt</th>
                    <th scope="col" class="number">In</th>
                    <th scope="col" class="number">Out</th>
                    <th scope="col" class="number">Failed</th>
                    <th scope="col" class="number">Open</th>
                    <th scope="col" class="number wide-only">Fetched</th>
                  </tr>
                </thead>
                <tbody>{items.map((site) => <SiteRow key={site.site} site={site} />)}</tbody>
              </table>
            </div>
            {more && <button type="button" onClick={list.longer}>Show more sites</button>}
          </>
        )}
      </Await>
    </section>
  );
}

// -- pages --

function sourceOf(page: CrawlPage): string {
  const from: Record<string, string> = {
    seed: 'where the crawl began', link: 'a link', sitemap: 'a sitemap', feed: 'a feed', redirect: 'a redirect', canonical: 'a canonical link',
  };
  const far = page.depth === 0 ? '' : `, ${plural(page.depth, 'link')} from the first page`;
  return `${from[page.source] ?? page.source}${far}`;
}

function whyOf(page: CrawlPage): string {
  if (page.why) return page.why;
  if (page.state === 'waiting') return 'it waits for its turn';
  if (page.state === 'fetched') return 'it was fetched and is being read';
  return page.state === 'in' ? `found by ${sourceOf(page)}` : '';
}

function PageRow({ page, crawl }: { page: CrawlPage; crawl: Crawl }) {
  return (
    <tr>
      <td>
        {page.status > 0 ? <a href={capturesHref(page.url, crawl.collection)}>{page.url}</a> : page.url}
        <span class="said quiet">{whyOf(page)}</span>
      </td>
      <td>
        <PageBadge state={page.state} />
      </td>
      <td class="wide-only">
        {page.status > 0 && page.status}
        {page.type !== '' && <span class="said quiet">{typeName(page.type)}</span>}
      </td>
      <td class="wide-only">
        {when(page.fetched_us)}
        {crawl.period > 0 && page.next_us !== undefined && <span class="said quiet">again {when(page.next_us)}</span>}
      </td>
      <td>
        {page.file !== undefined && (
          <a href={address(page.state === 'in' ? 'documents' : 'files', page.file)} aria-label={`${page.state === 'in' ? 'Read' : 'File'}: ${page.url}`}>{page.state === 'in' ? 'Read' : 'File'}</a>
        )}
      </td>
    </tr>
  );
}

interface Chosen {
  state: string;
  why: string;
  site: string;
}

function Filters({ state, why, site }: Chosen) {
  const change = (name: string) => (event: Event) => {
    const { value } = event.currentTarget as HTMLInputElement | HTMLSelectElement;
    // Only what is out has a reason.
    const also: Record<string, null> = name === 'state' && value !== 'out' ? { why: null } : {};
    go(withQuery({ [name]: value.trim() || null, ...also }), 'replace');
  };
  return (
    <div class="item-filters">
      <label>
        State
        <select value={state} onChange={change('state')}>
          <option value="">all</option>
          {pageStates.map((one) => <option key={one} value={one}>{stateName(one).toLowerCase()}</option>)}
        </select>
      </label>
      <label>
        Why
        <select value={why} onChange={change('why')}>
          <option value="">any reason</option>
          {whyKinds.map(([kind, name]) => <option key={kind} value={kind}>{name}</option>)}
        </select>
      </label>
      <label>
        Site
        <input class="site" value={site} placeholder="all" spellcheck={false} onChange={change('site')} />
      </label>
    </div>
  );
}

function chosenIn(query: URLSearchParams): Chosen {
  const state = pageStates.find((one) => one === query.get('state')) ?? '';
  const why = whyKinds.find(([kind]) => kind === query.get('why'))?.[0] ?? '';
  return { state, why, site: query.get('site') ?? '' };
}

export function Pages({ crawl }: { crawl: Crawl }) {
  const chosen = chosenIn(usePlace().query);
  const list = useLonger<CrawlPage>(['crawls', crawl.job, 'pages'], { ...chosen }, pagesStep, freshnessOf(crawl));
  return (
    <section class="panel" aria-labelledby="pages">
      <header>
        <h2 id="pages">Pages</h2>
        <Filters {...chosen} />
      </header>
      <Await from={list}>
        {({ items, more }) => (
          <>
            {items.length === 0 ? <p class="quiet">There is no such page.</p> : (
              <div class="scroll-x" tabIndex={0} role="region" aria-label="Table: pages">
                <table class="items crawl-pages">
                  <thead>
                    <tr>
                      <th scope="col">Address, and why</th>
                      <th scope="col">State</th>
                      <th scope="col" class="wide-only">Answer</th>
                      <th scope="col" class="wide-only">When</th>
                      <th scope="col"><span class="hidden">What you can do</span></th>
                    </tr>
                  </thead>
                  <tbody>{items.map((page) => <PageRow key={page.page} page={page} crawl={crawl} />)}</tbody>
                </table>
              </div>
            )}
            {more && <button type="button" onClick={list.longer}>Show more pages</button>}
          </>
        )}
      </Await>
    </section>
  );
}
