// One collection: its balance, its documents, its imports.
import { useEffect, useRef, useState } from 'preact/hooks';
import { api, get, Problem, remove } from '../core/api';
import { baseName, bytes, count, folderName, plural } from '../core/format';
import { useResource, useTitle } from '../core/hooks';
import { address, go } from '../core/router';
import { may, onlyCollection } from '../core/session';
import type { DocumentLine, Ledger, Pack, Page } from '../core/types';
import { Empty, Icon } from '../parts/icons';
import { LedgerPicture, sumsOfLedger } from '../parts/ledger_picture';
import { notify, notifyProblem } from '../parts/notice';
import { Await, Facts } from '../parts/state';
import { VirtualList } from '../parts/virtual_list';
import { JobList } from './jobs';
import '../style/collections.css';
import '../style/tree.css';

const rowPx = 58;
const settleMs = 3000;

// -- its documents --

// Pages by number. A server that knows no `offset` is asked page after page, as far as was scrolled.
function useDocuments(collection: string) {
  const cursors = useRef(new Map<number, string | number>());
  const byOffset = useRef(true);
  return async (offset: number, limit: number, signal: AbortSignal): Promise<DocumentLine[]> => {
    const ask = (query: Record<string, string | number>) =>
      get<Page<DocumentLine>>(api(['documents'], { collection, limit, ...query }), signal);
    const after = cursors.current.get(offset);
    const remember = (page: Page<DocumentLine>, at: number) => {
      if (page.next !== undefined) cursors.current.set(at + page.items.length, page.next);
      return page.items;
    };
    if (after !== undefined) return remember(await ask({ after }), offset);
    if (offset === 0) return remember(await ask({}), 0);
    if (byOffset.current) {
      try {
        return remember(await ask({ offset }), offset);
      } catch (failure) {
        if (!(failure instanceof Problem) || failure.status !== 400) throw failure;
        byOffset.current = false;
      }
    }
    const near = Math.max(0, ...[...cursors.current.keys()].filter((at) => at < offset));
    let at = near;
    while (at < offset) {
      const cursor = cursors.current.get(at);
      const items = remember(await ask(cursor === undefined ? {} : { after: cursor }), at);
      if (items.length === 0) return [];
      at += items.length;
    }
    const cursor = cursors.current.get(at);
    return cursor === undefined ? [] : remember(await ask({ after: cursor }), at);
  };
}

function titleOf(line: DocumentLine): string {
  const title = line.metadata?.title ?? line.metadata?.Title ?? line.metadata?.Subject;
  return typeof title === 'string' && title.trim() !== '' ? title : baseName(line.filename);
}

function DocumentRow({ line }: { line: DocumentLine }) {
  const title = titleOf(line);
  const name = title === baseName(line.filename) ? folderName(line.filename) : line.filename;
  return (
    <a class="file-row document-row" href={address('documents', line.document)}>
      <Icon name="document" />
      <span class="names">
        <span class="name">{title}</span>
        <span class="under quiet">{name}</span>
      </span>
      <span class="size quiet">
        {line.page !== null ? `page ${count(line.page)}` : line.pages !== null ? plural(line.pages, 'page') : ''}
      </span>
    </a>
  );
}

function Documents({ ledger }: { ledger: Ledger }) {
  const load = useDocuments(ledger.collection);
  const turn = useSlow(ledger.documents);
  if (ledger.documents === 0) return null;
  return (
    <section class="panel" aria-labelledby="documents">
      <header>
        <h2 id="documents">{plural(ledger.documents, 'document')}, by name</h2>
      </header>
      <VirtualList
        count={ledger.documents}
        rowPx={rowPx}
        label="Documents"
        load={load}
        turn={turn}
        row={(line) => <DocumentRow line={line} />}
      />
    </section>
  );
}

// While an import runs the list changes all the time; it is looked at again now and then only.
function useSlow(value: number): number {
  const [slow, setSlow] = useState(value);
  useEffect(() => {
    if (value === slow) return;
    const timer = window.setTimeout(() => setSlow(value), settleMs);
    return () => window.clearTimeout(timer);
  }, [value, slow]);
  return slow;
}

// -- what else is known, and done --

function SearchWithin({ name }: { name: string }) {
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    const q = String(new FormData(event.currentTarget as HTMLFormElement).get('q') ?? '');
    go(`/search?collection=${encodeURIComponent(name)}&q=${encodeURIComponent(q)}`);
  };
  return (
    <form class="within" role="search" aria-label={`Search in ${name}`} onSubmit={onSubmit}>
      <input name="q" type="search" aria-label={`Search in ${name}`} placeholder={`Search in ${name}`} autocomplete="off" />
      <button type="submit" class="main">
        <Icon name="search" /> Search
      </button>
    </form>
  );
}

function PackFacts({ ledger }: { ledger: Ledger }) {
  const limited = onlyCollection() !== null;
  const packs = useResource<Page<Pack>>(limited ? null : api(['packs']), { on: ['pack.published'] });
  const pack = packs.data?.items.find((one) => one.collection === ledger.collection);
  if (limited || !packs.data) return null;
  const waiting = Math.max(0, ledger.documents - (pack?.documents ?? 0));
  return (
    <section class="panel" aria-labelledby="pack">
      <h2 id="pack">Search index</h2>
      {pack ? (
        <Facts
          of={[
            ['Can be found', plural(pack.documents, 'document')],
            ['Still to come', waiting > 0 ? plural(waiting, 'document') : null],
            ['Size', bytes(pack.bytes)],
            ['Parts', count(pack.segments.length)],
            ['Version', count(pack.version)],
          ]}
        />
      ) : (
        <p class="quiet">Nothing can be found yet: the index is made as documents come.</p>
      )}
    </section>
  );
}

// It cannot be undone, so a click is not enough: the name must be typed.
function DeleteForm({ ledger, close }: { ledger: Ledger; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      await remove(api(['collections', ledger.collection]));
      notify(`The collection ${ledger.collection} is deleted.`);
      go('/collections');
    } catch (failure) {
      notifyProblem(failure);
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby="delete-title" onClose={close}>
      <form onSubmit={onSubmit}>
        <h2 id="delete-title">Delete the collection {ledger.collection}?</h2>
        <p>
          Its {plural(ledger.documents, 'document')} and {plural(ledger.files, 'file')} go for good. This cannot be undone.
        </p>
        <label class="stacked">
          <span>Type <strong>{ledger.collection}</strong> to say that you mean it</span>
          <input value={typed} onInput={(event) => setTyped(event.currentTarget.value)} autocomplete="off" autofocus />
        </label>
        <div class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            No, leave it
          </button>
          <button type="submit" class="danger" disabled={busy || typed !== ledger.collection}>
            {busy ? 'Deleting…' : 'Delete for good'}
          </button>
        </div>
      </form>
    </dialog>
  );
}

function CollectionBody({ ledger }: { ledger: Ledger }) {
  const [deleting, setDeleting] = useState(false);
  const name = ledger.collection;
  return (
    <>
      <div class="heading">
        <h1>
          <Icon name="collection" size={24} /> {name}
        </h1>
        <div class="buttons">
          {ledger.errors > 0 && (
            <a class="button" href={`/errors?collection=${encodeURIComponent(name)}`}>
              <Icon name="error" /> {plural(ledger.errors, 'error')}
            </a>
          )}
          {may('edit') && (
            <button type="button" onClick={() => setDeleting(true)}>
              <Icon name="trash" /> Delete
            </button>
          )}
        </div>
      </div>
      {ledger.documents > 0 && <SearchWithin name={name} />}
      <section class="panel" aria-labelledby="ledger">
        <h2 id="ledger">What came in, and what became of it</h2>
        <LedgerPicture sums={sumsOfLedger(ledger)} />
      </section>
      <Documents ledger={ledger} />
      <div class="columns">
        <section class="panel" aria-labelledby="imports">
          <h2 id="imports">Imports</h2>
          <JobList collection={name} />
        </section>
        <PackFacts ledger={ledger} />
      </div>
      {deleting && <DeleteForm ledger={ledger} close={() => setDeleting(false)} />}
    </>
  );
}

export default function CollectionPage({ name }: { name: string }) {
  const ledger = useResource<Ledger>(api(['collections', name]), {
    on: ['job.progress', 'job.finished'],
    when: (event) => event.data.collection === name,
  });
  useTitle(name);
  if (ledger.problem?.status === 404) {
    return (
      <>
        <h1 class="hidden">{name}</h1>
        <Empty title={`There is no collection “${name}”`}>
          <p>It begins with the first file that is added to it. <a href="/collections">See those that are there</a>.</p>
        </Empty>
      </>
    );
  }
  return <Await from={ledger}>{(data) => <CollectionBody key={name} ledger={data} />}</Await>;
}
