// A document: its pages or its text at the hit, what it is, and where it came from.
import { Suspense } from 'preact/compat';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { api, ask } from '../core/api';
import { baseName, bytes, count, isWebAddress, typeName, when } from '../core/format';
import { useLoaded, useResource, useTitle } from '../core/hooks';
import { lazily } from '../core/lazily';
import { address, go, withQuery } from '../core/router';
import { onlyCollection } from '../core/session';
import type { Ancestor, FileDetails, FileLine, Matches, Page, SearchAnswer } from '../core/types';
import { capturesHref } from '../parts/crawl_words';
import { Icon, iconOf } from '../parts/icons';
import { isTyping } from '../parts/shortcuts';
import { Await, Facts, Loading, ProblemBox } from '../parts/state';
import { TextView } from '../parts/text_view';
import { MissingPage } from './missing';
import { askedQuery, hitAddress, type Asked } from './search';
import '../style/crawls.css';
import '../style/document.css';

const PdfView = lazily(() => import('../parts/pdf_view'));
const siblingsAround = 4;
const hitsMax = 200;
const longTitle = 80; // characters: in smaller letters
const madeSecondsMax = 60; // a download waits so long for the PDF of a web page

// Words for marks where the server cannot tell: those of the query that are no filters.
function wordsOf(q: string): string[] {
  return q.split(/[\s()"]+/).filter((word) => /^[\p{L}\p{N}'-]+$/u.test(word) && !/^(OR|AND|NOT)$/.test(word));
}

function useWords(id: number, q: string): { words: string[]; total: number | null } {
  const matches = useResource<Matches>(q === '' ? null : api(['files', id, 'matches'], { q }));
  if (q === '') return { words: [], total: null };
  if (matches.data) return { words: matches.data.words, total: matches.data.total };
  return { words: matches.problem ? wordsOf(q) : [], total: null };
}

// The hits before and after this one, in the search it was found by.
function useNeighbours(asked: Asked, n: number) {
  const limit = Math.min(n + 2, hitsMax);
  const { q, sort } = asked;
  const within = onlyCollection() ?? asked.collection;
  const answer = useResource<SearchAnswer>(q === '' || n < 0 ? null : api(['search'], { q, collection: within, sort, limit }));
  const hits = answer.data?.hits ?? [];
  const link = (at: number) => (hits[at] && at >= 0 ? hitAddress(hits[at], asked, at) : null);
  return { before: link(n - 1), after: link(n + 1), total: answer.data?.total ?? null };
}

function Neighbours({ asked, n }: { asked: Asked; n: number }) {
  const { before, after, total } = useNeighbours(asked, n);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isTyping(event)) return;
      if (event.key === '[' && before) go(before);
      if (event.key === ']' && after) go(after);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [before, after]);
  return (
    <nav class="neighbours row" aria-label="Results">
      <a href={`/search?${askedQuery(asked)}`}>
        <Icon name="back" size={16} /> Results for “{asked.q}”
      </a>
      <span class="spring" />
      {total !== null && n >= 0 && <span class="quiet">{count(n + 1)} of {count(total)}</span>}
      {before && <a class="button" href={before} rel="prev" title="Previous document ([)">Previous{' '}<span class="wide-word">document</span></a>}
      {after && <a class="button" href={after} rel="next" title="Next document (])">Next{' '}<span class="wide-word">document</span></a>}
    </nav>
  );
}

function Crumbs({ file }: { file: FileDetails }) {
  const link = (one: Ancestor) => (
    <li key={one.file}>
      <Icon name="chevron" size={14} />
      <a href={address('files', one.file)}>{baseName(one.filename)}</a>
    </li>
  );
  const parents = file.parents.filter((one) => one.filename !== file.filename);
  const url = webAddress(file);
  return (
    <nav aria-label="Where it came from">
      <ol class="crumbs path">
        <li>
          <Icon name="collection" size={16} />
          <a href={address('collections', file.collection)}>{file.collection}</a>
        </li>
        {parents.map(link)}
        <li>
          <Icon name="chevron" size={14} />
          {/* An address leads to the stored copy, not out: whose site it is need not learn who reads it. */}
          {isHtml(file) && url !== null ? (
            <a href={capturesHref(url, file.collection, 'newest')} title={url}>{url}</a>
          ) : (
            <span aria-current="page" title={baseName(file.filename)}>{baseName(file.filename)}</span>
          )}
        </li>
      </ol>
    </nav>
  );
}

// What a person would call the file: the office file whose PDF this is, the mail whose body it is. They have its name.
function originalLine(file: FileDetails): Ancestor | null {
  let original: Ancestor | null = null;
  for (const one of [...file.parents].reverse()) {
    if (one.filename !== file.filename) break;
    original = one;
  }
  return original;
}

// What has pages or a text to read; a file that was converted leads to what it became.
const isRead = (file: FileLine): boolean => file.class === 'document' || (file.class === 'converted' && file.n_children > 0);

function Siblings({ file }: { file: FileDetails }) {
  const original = originalLine(file);
  const index = original?.index ?? file.index;
  const container = [...file.parents].reverse().find((one) => one.filename !== file.filename);
  const base = container ? ['files', container.file, 'children'] : ['jobs', file.job, 'roots'];
  const after = index - siblingsAround - 1;
  const list = useResource<Page<FileLine>>(api(base, { after: after < 0 ? null : after, limit: 2 * siblingsAround + 1 }));
  const mine = original?.file ?? file.file;
  const others = list.data?.items ?? [];
  if (others.length <= 1) return null;
  return (
    <section class="panel" aria-labelledby="siblings">
      <h2 id="siblings">{container ? `Beside it in ${baseName(container.filename)}` : 'Beside it'}</h2>
      <ul class="siblings">
        {others.map((one) => (
          <li key={one.file}>
            <a href={address(isRead(one) ? 'documents' : 'files', one.file)} aria-current={one.file === mine ? 'true' : undefined}>
              <Icon name={iconOf(one.detected_type ?? one.content_type, one.class)} size={16} /> <span dir="auto">{baseName(one.filename)}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;

function metadataValue(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  return (isTime.test(value) && when(value)) || value;
}

function metadataFacts(metadata: Record<string, unknown> | null): [string, string][] {
  const told = Object.entries(metadata ?? {}).filter(([name, value]) => value !== null && value !== '' && !(name === 'url' && isWebAddress(value)));
  return told.slice(0, 100).map(([name, value]) => [name.replaceAll('_', ' '), metadataValue(value)]);
}

// Where a page or a file of the web was found.
const webAddress = (file: FileDetails): string | null => (isWebAddress(file.metadata?.url) ? file.metadata.url : null);

// The bytes of a web page are HTML: its text is shown here, and the page itself as a stored copy.
const isHtml = (file: FileDetails): boolean => /^(text\/html|application\/xhtml\+xml)\b/.test(file.detected_type ?? file.content_type);

function Captures({ url, file }: { url: string; file: FileDetails }) {
  return (
    <section class="panel" aria-labelledby="on-the-web">
      <h2 id="on-the-web">On the web</h2>
      {isHtml(file) ? (
        <p class="quiet">This is the text of a page. The page itself is kept as it was, and shown without its scripts.</p>
      ) : (
        <p class="asked">{url}</p>
      )}
      <div class="buttons">
        <a class="button main" href={capturesHref(url, file.collection, 'newest')}>
          <Icon name="web" /> As it was
        </a>
        <a class="button" href={capturesHref(url, file.collection)}>
          <Icon name="clock" /> All captures
        </a>
      </div>
    </section>
  );
}

function Side({ file }: { file: FileDetails }) {
  const original = originalLine(file);
  const type = original ? (original.detected_type ?? original.content_type) : (file.detected_type ?? file.content_type);
  const facts = metadataFacts(file.metadata);
  const url = webAddress(file);
  return (
    <aside class="document-side" aria-label="About this document">
      <section class="panel">
        <div class="buttons">
          {file.has_blob && (
            <a class="button" href={api(['files', file.file, 'blob'], { download: true })} download>
              <Icon name="download" /> {isHtml(file) ? 'Page' : 'PDF'}
            </a>
          )}
          {isHtml(file) && (
            <a class="button" href={api(['files', file.file, 'pdf'], { download: true, wait: madeSecondsMax })} download>
              <Icon name="download" /> PDF
            </a>
          )}
          {original && !isHtml(file) && (
            <a class="button" href={api(['files', original.file, 'blob'], { download: true })} download>
              <Icon name="download" /> Original
            </a>
          )}
        </div>
        <Facts
          of={[
            ['Type', typeName(type)],
            ['Name', file.filename],
            ['Size', bytes(file.bytes)],
            ['Page', file.page !== null ? `${file.page} of ${file.pages ?? '?'}` : null],
            ['Read', when(file.ingested ?? file.processed)],
          ]}
        />
        <p class="made"><a href={address('files', original?.file ?? file.file)}>How it was made</a></p>
      </section>
      {url !== null && <Captures url={url} file={file} />}
      {facts.length > 0 && (
        <section class="panel" aria-labelledby="metadata">
          <h2 id="metadata">Metadata</h2>
          <Facts of={facts} />
        </section>
      )}
      <Siblings file={file} />
    </aside>
  );
}

function titleOf(file: FileDetails | null): string {
  for (const name of ['title', 'Title', 'Subject']) {
    const value = file?.metadata?.[name];
    if (typeof value === 'string' && value.trim() !== '') return value;
  }
  return baseName(file?.filename ?? '');
}

// The PDF of a web page is made when it is asked for first; until then the server says that it is on its way.
function MadePages({ file, page, words, title }: { file: number; page: number; words: string[]; title: string }) {
  const url = api(['files', file, 'pdf']);
  const made = useLoaded<boolean>(url, async (signal) => (await ask(url, { signal, headers: { Range: 'bytes=0-0' } })).ok);
  if (made.problem?.status === 503) return <Loading what={made.problem.detail.replace(/: .*$/, '')} />;
  if (made.problem) return <ProblemBox problem={made.problem} />;
  return made.data ? <PdfView url={url} page={page} words={words} title={title} /> : <Loading what="Making a PDF of this page" />;
}

// The address of a file that was converted leads to what was made of it.
function useReadable(file: FileDetails | null): void {
  const isConverted = file !== null && file.class === 'converted' && file.n_children > 0;
  const children = useResource<Page<FileLine>>(isConverted ? api(['files', file.file, 'children'], { limit: 1 }) : null);
  const made = children.data?.items[0];
  useEffect(() => {
    if (made) go(`${address(isRead(made) ? 'documents' : 'files', made.file)}${window.location.search}`, 'replace');
  }, [made?.file]);
}

function useUpKey(file: FileDetails | null): void {
  // At once: somebody who goes up twice is fast.
  useLayoutEffect(() => {
    if (!file) return;
    const parents = file.parents.filter((one) => one.filename !== file.filename);
    const up = parents.length > 0 ? address('files', parents[parents.length - 1].file) : address('jobs', file.job, 'files');
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'u' && !isTyping(event) && !event.metaKey && !event.ctrlKey) go(up);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [file?.file]);
}

export default function DocumentPage({ id, query }: { id: number; query: URLSearchParams }) {
  const q = query.get('q') ?? '';
  const n = Number(query.get('n') ?? -1);
  const page = Number(query.get('page') ?? 1);
  const asked = { q, collection: query.get('collection') ?? '', sort: query.get('sort') ?? '' };
  const resource = useResource<FileDetails>(api(['files', id]));
  const file = resource.data;
  const title = titleOf(file);
  useTitle(title);
  useUpKey(file);
  useReadable(file);
  const { words, total } = useWords(id, q);
  // A web page is read as text unless somebody wants it on paper; anything else the other way round.
  const [view, setView] = useState(query.get('view'));
  const isPage = file !== null && isHtml(file);
  const hasPages = file !== null && file.has_blob;
  const isText = (file !== null && !hasPages) || (isPage ? view !== 'pages' : view === 'text');
  const show = (text: boolean) => {
    const other = text ? 'text' : 'pages';
    const wanted = text === isPage ? null : other;
    setView(wanted);
    go(withQuery({ view: wanted }), 'replace');
  };
  return (
    <article class="document">
      {q !== '' && <Neighbours asked={asked} n={n} />}
      {resource.problem?.status === 404 ? <MissingPage /> : <Await from={resource}>
        {(one) => (
          <>
            <Crumbs file={one} />
            <div class="heading">
              <h1 class={title.length > longTitle ? 'long' : ''} dir="auto">{title}</h1>
              {total !== null && <span class="quiet">{count(total)} {total === 1 ? 'hit' : 'hits'} in it</span>}
              <div class="tabs" role="group" aria-label="Show as">
                <button type="button" aria-pressed={!isText} disabled={!hasPages} onClick={() => show(false)}>Pages</button>
                <button type="button" aria-pressed={isText} onClick={() => show(true)}>Text</button>
              </div>
            </div>
            <div class={`document-columns ${isHtml(one) && isText ? 'reading' : ''}`}>
              {isText ? (
                <TextView file={id} words={words} />
              ) : (
                <Suspense fallback={<Loading what="Opening the viewer" />}>
                  {isHtml(one) ? (
                    <MadePages file={id} page={page} words={words} title={title} />
                  ) : (
                    <PdfView url={api(['files', id, 'blob'])} page={page} words={words} title={title} />
                  )}
                </Suspense>
              )}
              <Side file={one} />
            </div>
          </>
        )}
      </Await>}
    </article>
  );
}
