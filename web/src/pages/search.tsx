// Search: answers as one types, at an address that can be shared.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { api } from '../core/api';
import { baseName, count, folderName, isWebAddress, plural, typeName } from '../core/format';
import { useNarrow, useResource, useSettled, useTitle } from '../core/hooks';
import { address, go, usePlace, withQuery } from '../core/router';
import { onlyCollection } from '../core/session';
import type { FacetValue, Hit, Ledger, Page, SearchAnswer } from '../core/types';
import { Empty, Icon, iconOf } from '../parts/icons';
import { SearchBox } from '../parts/search_box';
import { isTyping } from '../parts/shortcuts';
import { Snippet } from '../parts/snippet';
import { ProblemBox } from '../parts/state';

const typeMs = 180;
const pageHits = 20;
const pagesMax = 10;

// While a word is being typed it stands for all that begin so.
function asTyped(q: string): string {
  return /(^|\s)[\p{L}\p{N}]{2,}$/u.test(q) && !/(^|\s)(OR|AND|NOT)$/.test(q) ? `${q}*` : q;
}

// What was asked: a hit's place in the answer means something only with all of it.
export interface Asked {
  q: string;
  collection: string;
  sort: string; // '' is by relevance
}

export function askedQuery({ q, collection, sort }: Asked): URLSearchParams {
  const query = new URLSearchParams({ q });
  if (collection !== '') query.set('collection', collection);
  if (sort !== '') query.set('sort', sort);
  return query;
}

export function hitAddress(hit: Hit, asked: Asked, number: number): string {
  const query = askedQuery(asked);
  query.set('n', String(number));
  if (hit.page !== null) query.set('page', String(hit.page));
  return `${address('documents', hit.document)}?${query}`;
}

// A filter is a word of the query: people see how it is done, and can type it next time.
function toggled(q: string, filter: string): string {
  const parts = q.split(/\s+/).filter((part) => part !== '');
  const others = parts.filter((part) => part !== filter);
  return (others.length < parts.length ? others : [...parts, filter]).join(' ');
}

function Facet({ title, values, filter, name, q, onChoose }: {
  title: string;
  values: FacetValue[];
  filter: (value: FacetValue) => string;
  name: (value: FacetValue) => string;
  q: string;
  onChoose: (q: string) => void;
}) {
  if (values.length === 0) return null;
  const words = new Set(q.split(/\s+/));
  return (
    <fieldset class="facet">
      <legend>{title}</legend>
      {values.slice(0, 8).map((value) => (
        <label key={String(value.value)} class="check">
          <input type="checkbox" checked={words.has(filter(value))} onChange={() => onChoose(toggled(q, filter(value)))} />
          <span>{name(value)}</span> <span class="quiet">{count(value.count)}</span>
        </label>
      ))}
    </fieldset>
  );
}

// On a phone they would push the hits out of sight: there they are folded.
function Facets({ of, within, q, onChoose }: { of: SearchAnswer['facets']; within: string; q: string; onChoose: (q: string) => void }) {
  const narrow = useNarrow();
  return (
    <aside class="facets" aria-label="Narrow it down">
      <details open={!narrow}>
        <summary>Narrow it down</summary>
        <div class="facet-list">
          <Facet title="Type" values={of?.type ?? []} filter={(one) => `type:${one.value}`} name={(one) => typeName(String(one.value))} q={q} onChoose={onChoose} />
          <Facet title="Year" values={of?.year ?? []} filter={(one) => `date:${one.value}`} name={(one) => String(one.value)} q={q} onChoose={onChoose} />
          {within === '' && (
            <Facet title="Collection" values={of?.collection ?? []} filter={(one) => `collection:${one.value}`} name={(one) => String(one.value)} q={q} onChoose={onChoose} />
          )}
        </div>
      </details>
    </aside>
  );
}

function HitLine({ hit, href }: { hit: Hit; href: string }) {
  const isPage = isWebAddress(hit.url);
  // A web page has no picture of itself.
  const [picture, setPicture] = useState(!isPage || hit.type !== 'text/html');
  return (
    <li class="hit">
      <span class={`thumb ${hit.type?.startsWith('image/') ? '' : 'of-page'}`} aria-hidden="true">
        {picture ? (
          <img src={api(['files', hit.document, 'thumbnail'], { make: 0 })} alt="" loading="lazy" onError={() => setPicture(false)} />
        ) : (
          <Icon name={isPage ? 'web' : iconOf(hit.type)} size={28} />
        )}
      </span>
      <a href={href} class="hit-link" dir="auto">{hit.title || baseName(hit.filename)}</a>
      <div class="hit-text">
        <p class="hit-facts quiet">
          <Icon name={iconOf(hit.type)} size={15} /> {typeName(hit.type)}
          {hit.page !== null && ` · page ${hit.page}`}
          {hit.date && ` · ${hit.date}`} · {hit.collection} · <span class="where">{isPage ? hit.url : folderName(hit.filename) || hit.filename}</span>
        </p>
        <Snippet html={hit.snippet} />
      </div>
    </li>
  );
}

// Arrow keys go from hit to hit, also from the box; Enter is the link's own.
function useHitKeys(list: { current: HTMLOListElement | null }): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
      const inBox = event.target instanceof HTMLInputElement && event.target.type === 'search';
      if (isTyping(event) && !inBox) return;
      const links = [...(list.current?.querySelectorAll<HTMLElement>('.hit-link') ?? [])];
      const at = links.indexOf(document.activeElement as HTMLElement);
      if (at < 0 && event.key === 'ArrowUp') return;
      const next = at + (event.key === 'ArrowDown' ? 1 : -1);
      if (next >= links.length) return;
      event.preventDefault();
      if (next < 0) document.querySelector<HTMLElement>('main input[type=search]')?.focus();
      else links[next].focus();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}

interface More {
  first: string; // the address of the first page
  cursors: string[];
  pages: SearchAnswer[];
}

// What was on the screen when a hit was opened: whoever comes back goes on there.
let left: { more: More; y: number } | null = null;

// The pages behind the first, asked for one by one. A list that is made longer stays.
function useMore(first: SearchAnswer | null, path: (after?: string) => string) {
  const at = path();
  const [state, setMore] = useState<More>(() => left?.more ?? { first: at, cursors: [], pages: [] });
  const more = state.first === at ? state : { first: at, cursors: [], pages: [] };
  const wanted = more.cursors.length > more.pages.length ? more.cursors[more.cursors.length - 1] : null;
  const answer = useResource<SearchAnswer>(wanted === null ? null : path(wanted));
  useEffect(() => {
    if (answer.data && wanted !== null) setMore({ ...more, pages: [...more.pages, answer.data] });
  }, [answer.data]);
  const all = first ? [first, ...more.pages] : [];
  const next = all[all.length - 1]?.next;
  const isFull = all.length >= pagesMax && next !== undefined;
  const loadMore = next !== undefined && !isFull ? () => setMore({ ...more, cursors: [...more.cursors, next] }) : null;
  const byName = new Map(all.flatMap((page) => page.hits).map((hit) => [`${hit.collection}/${hit.document}`, hit]));
  return { more, answer, hits: [...byName.values()], loadMore, isFull, isLong: more.cursors.length > 0, isWaiting: wanted !== null };
}

function useReturn(at: string, isThere: boolean): void {
  useEffect(() => {
    if (!isThere) return;
    if (left?.more.first === at) window.scrollTo(0, left.y);
    left = null;
  }, [isThere]);
}

function Foot({ of }: { of: ReturnType<typeof useMore> }) {
  if (of.answer.problem) return <ProblemBox problem={of.answer.problem} retry={of.answer.reload} />;
  if (of.isFull) return <p class="quiet">These are the first {count(of.hits.length)}. Another word or a filter finds what is behind them.</p>;
  if (!of.loadMore) return null;
  return (
    <button type="button" disabled={of.isWaiting} onClick={of.loadMore}>
      {of.isWaiting ? 'Loading…' : 'Show more'}
    </button>
  );
}

function Help() {
  return (
    <Empty title="What are you looking for?">
      <dl class="syntax">
        <div><dt><code>river barge</code></dt><dd>both words, in any form</dd></div>
        <div><dt><code>"river barge"</code></dt><dd>side by side</dd></div>
        <div><dt><code>barg*</code></dt><dd>words that begin so</dd></div>
        <div><dt><code>draft OR final -obsolete</code></dt><dd>one of two, without a third</dd></div>
        <div><dt><code>type:mail from:ines</code></dt><dd>by type and sender</dd></div>
        <div><dt><code>date:2019..2021</code></dt><dd>by the document’s own date</dd></div>
        <div><dt><code>path:leak/mails</code></dt><dd>below a folder</dd></div>
      </dl>
    </Empty>
  );
}

function total(answer: SearchAnswer): string {
  const words = plural(answer.total, 'document');
  return answer.total_is === 'at_least' ? `At least ${words}` : words;
}

export function SearchPage() {
  const { query } = usePlace();
  const q = query.get('q') ?? '';
  const collection = onlyCollection() ?? query.get('collection') ?? '';
  const sort = query.get('sort') ?? '';
  useTitle(q === '' ? 'Search' : q);

  // The address follows the box; a word that is being typed is searched by its beginning. The address says so, for
  // those who come back to it.
  const typing = query.get('typing') !== null;
  const [touched, setTouched] = useState(false);
  const [text, setText] = useState(q);
  const written = useRef(q); // by the box: it knows, and may be further by now
  useEffect(() => {
    if (q !== written.current) setText(q);
    written.current = q;
  }, [q]);
  const settled = useSettled(text, typeMs);
  useEffect(() => {
    if (!touched || settled === q) return;
    written.current = settled;
    go(withQuery({ q: settled, typing: settled === '' ? null : '1' }), 'replace');
  }, [settled]);

  const asked = typing ? asTyped(q) : q;
  const path = (after?: string) => api(['search'], { q: asked, collection, sort, facets: !after, limit: pageHits, after });
  // A list that was made longer stays as it is: it would jump under the reader's eyes.
  const isLong = useRef(false);
  const answer = useResource<SearchAnswer>(asked === '' ? null : path(), { on: ['pack.published'], when: () => !isLong.current });
  const last = useRef<SearchAnswer | null>(null);
  if (answer.data) last.current = answer.data;
  const shown = asked === '' ? null : (answer.data ?? last.current);
  const more = useMore(answer.data, path);
  isLong.current = more.isLong;
  useReturn(path(), answer.data !== null);
  const hits = answer.data ? more.hits : (shown?.hits ?? []);

  const collections = useResource<Page<Ledger>>(onlyCollection() === null ? api(['collections'], { limit: 100 }) : null);
  // The chosen one may be behind the first hundred.
  const names = useMemo(() => {
    const first = (collections.data?.items ?? []).map((one) => one.collection);
    return collection === '' || first.includes(collection) ? first : [collection, ...first];
  }, [collections.data, collection]);
  const list = useRef<HTMLOListElement>(null);
  useHitKeys(list);
  const base = typing ? asked : text; // what a filter is added to
  const choose = (changed: string) => {
    setTouched(false);
    go(withQuery({ q: changed, typing: null }));
  };

  return (
    <div class="search">
      <h1 class="hidden">Search</h1>
      <SearchBox
        value={text}
        collection={collection}
        autofocus={q === ''}
        onInput={(value) => {
          setTouched(true);
          setText(value);
        }}
        onSubmit={() => {
          setTouched(false);
          go(withQuery({ q: text, typing: null }));
        }}
      />
      <div class="search-tools row">
        <p class="total" role="status">
          {asked === '' ? '' : shown ? total(shown) : 'Searching…'}
        </p>
        <span class="spring" />
        {names.length > 0 && (
          <label>
            In{' '}
            <select value={collection} onChange={(event) => go(withQuery({ collection: event.currentTarget.value }))}>
              <option value="">all collections</option>
              {names.map((name) => <option key={name} value={name}>{name}</option>)}
            </select>
          </label>
        )}
        <label>
          Order{' '}
          <select value={sort} onChange={(event) => go(withQuery({ sort: event.currentTarget.value }))}>
            <option value="">best first</option>
            <option value="newest">newest first</option>
            <option value="oldest">oldest first</option>
          </select>
        </label>
      </div>
      {answer.problem && <ProblemBox problem={answer.problem} retry={answer.reload} />}
      {shown?.notes.map((note) => <p key={note} class="note">{note}</p>)}
      {asked === '' && <Help />}
      {shown && shown.hits.length === 0 && !answer.loading && (
        <Empty title="Nothing was found">
          <p>
            Try fewer words, or the beginning of one with a star: <code>barg*</code>.
            {collection !== '' && <> Or search <a href={withQuery({ collection: null })}>all collections</a>.</>}
          </p>
          <p class="quiet">What is still being read is found a few seconds after it became a document.</p>
        </Empty>
      )}
      {shown && (hits.length > 0 || q.includes(':')) && (
        <div class="search-columns">
          <Facets of={shown.facets} within={collection} q={base} onChoose={choose} />
          <div>
            <ol class="hits" ref={list} aria-label="Documents" onClickCapture={() => (left = { more: more.more, y: window.scrollY })}>
              {hits.map((hit, index) => (
                <HitLine key={`${hit.collection}/${hit.document}`} hit={hit} href={hitAddress(hit, { q: asked, collection, sort }, index)} />
              ))}
            </ol>
            {answer.data && <Foot of={more} />}
          </div>
        </div>
      )}
    </div>
  );
}
