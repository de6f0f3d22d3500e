// All collections: what each holds, and whether everything is accounted for.
import { useEffect, useRef, useState } from 'preact/hooks';
import { api } from '../core/api';
import { bytes, count, plural } from '../core/format';
import { useResource, useSettled, useTitle } from '../core/hooks';
import { address, go, withQuery } from '../core/router';
import { may, onlyCollection } from '../core/session';
import type { Ledger } from '../core/types';
import { Empty, Icon } from '../parts/icons';
import { useLeaving } from '../parts/leaving';
import { useLonger } from '../parts/longer';
import { Await, Badge } from '../parts/state';
import '../style/collections.css';
import '../style/tones.css';

const shares: [key: keyof Ledger, tone: string][] = [
  ['documents', 'document'], ['containers', 'container'], ['converted', 'converted'],
  ['empty', 'void'], ['errors', 'error'], ['in_progress', 'in_progress'],
];

// One thin bar: the shares of what became of the files. The numbers stand beside it.
function ShareBar({ of }: { of: Ledger }) {
  let x = 0;
  return (
    <svg class="share-bar" width="100%" height="8" aria-hidden="true">
      {shares.map(([key, tone]) => {
        const width = of.files === 0 ? 0 : (Number(of[key]) / of.files) * 100;
        const part = <rect key={key} class={`tone-${tone}`} x={`${x}%`} width={`${width}%`} height="8" />;
        x += width;
        return part;
      })}
    </svg>
  );
}

function Balance({ of }: { of: Ledger }) {
  if (!of.balanced) return <Badge tone="error">Does not balance</Badge>;
  if (of.in_progress > 0) return <Badge tone="running">In progress</Badge>;
  return <Badge tone="done">Balanced</Badge>;
}

function Card({ of }: { of: Ledger }) {
  return (
    <li class="panel collection-card">
      <h2>
        <a href={address('collections', of.collection)}>{of.collection}</a>
      </h2>
      <p class="big">{plural(of.documents, 'document')}</p>
      <ShareBar of={of} />
      <p class="quiet">
        from {plural(of.roots, 'file')} that came in ({bytes(of.bytes_in)}), {count(of.files)} with all that was in them
      </p>
      <div class="row">
        <Balance of={of} />
        {of.errors > 0 && <a class="bad" href={`/errors?collection=${encodeURIComponent(of.collection)}`}>{plural(of.errors, 'error')}</a>}
      </div>
    </li>
  );
}

function Teaching() {
  return (
    <Empty title="There is no collection yet">
      <p>
        A collection is a shelf of its own: one leak, one council, one story. Files are added to a collection, and a search
        can stay within it.
      </p>
      <p>
        Drop files on the <a href="/">home page</a>, or type <code>quern add --collection my-story FOLDER</code>.
      </p>
    </Empty>
  );
}

function Cards({ ledgers }: { ledgers: Ledger[] }) {
  const leaving = useLeaving();
  const shown = ledgers.filter((ledger) => !leaving.has(api(['collections', ledger.collection])));
  if (shown.length === 0) return <Teaching />;
  return <ul class="collection-cards">{shown.map((ledger) => <Card key={ledger.collection} of={ledger} />)}</ul>;
}

const fresh = { on: ['job.progress', 'job.finished'] };
const cardsStep = { step: 60, atOnce: 100 };
const findFrom = 12; // so many are found by looking
const findMs = 200;

// The name behind which those that begin so are: they come in order.
function justBefore(beginning: string): string {
  const last = beginning.codePointAt(beginning.length - 1);
  if (last === undefined || last < 2) return '';
  return `${beginning.slice(0, -1)}${String.fromCodePoint(last - 1)}\uffff`;
}

function Find({ value, onInput }: { value: string; onInput: (value: string) => void }) {
  return (
    <label class="find-collection">
      <span class="hidden">Collections whose name begins with</span>
      <Icon name="search" />
      <input
        type="search" value={value} placeholder="Name begins with…" autocomplete="off" spellcheck={false} maxLength={64}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  );
}

function AllCollections() {
  const [text, setText] = useState(() => new URLSearchParams(window.location.search).get('begins') ?? '');
  const begins = useSettled(text.trim(), findMs);
  useEffect(() => go(withQuery({ begins: begins || null }), 'replace'), [begins]);
  const all = useLonger<Ledger>(['collections'], { after: justBefore(begins) || null }, cardsStep, fresh);
  const fits = (one: Ledger) => one.collection.startsWith(begins);
  const many = useRef(text !== '');
  if (all.data && (all.data.more || all.data.items.length > findFrom)) many.current = true;
  return (
    <>
      {many.current && <Find value={text} onInput={setText} />}
      <Await from={all}>
        {({ items, more }) => (
          <>
            {begins !== '' && !items.some(fits) ? (
              <p class="quiet" role="status">No collection has a name that begins with “{begins}”. Capital letters count.</p>
            ) : (
              <Cards ledgers={items.filter(fits)} />
            )}
            {more && items.every(fits) && <button type="button" class="more" onClick={all.longer}>Show more collections</button>}
          </>
        )}
      </Await>
    </>
  );
}

// A token for one collection may not ask for the list.
function OneCollection({ name }: { name: string }) {
  const one = useResource<Ledger>(api(['collections', name]), fresh);
  if (one.problem?.status === 404) return <Teaching />;
  return <Await from={one}>{(ledger) => <Cards ledgers={[ledger]} />}</Await>;
}

export default function CollectionsPage() {
  useTitle('Collections');
  const only = onlyCollection();
  return (
    <>
      <div class="heading">
        <h1>Collections</h1>
        {may('edit') && <a class="button main" href="/">Add files</a>}
      </div>
      {only === null ? <AllCollections /> : <OneCollection name={only} />}
    </>
  );
}
