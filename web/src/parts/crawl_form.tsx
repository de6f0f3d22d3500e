// The form that begins a crawl. What is wrong is said at the field that it is about.
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { api, post, Problem } from '../core/api';
import { address, go } from '../core/router';
import { onlyCollection } from '../core/session';
import type { Crawl } from '../core/types';
import { Icon } from './icons';
import { notify, notifyProblem } from './notice';

const day = 86_400;
const periods: [seconds: number, name: string][] = [
  [0, 'never: once is enough'], [day / 24, 'hour'], [day, 'day'], [7 * day, 'week'], [30 * day, '30 days'],
];
const pagesMost = 100_000_000;
const delayMost = 3600;

interface Order {
  urls: string;
  collection: string;
  scope: string; // host, domain, prefix
  prefix: string;
  pages: string;
  delay: string;
  period: number;
  force: boolean;
}
type Field = 'urls' | 'collection' | 'prefix' | 'pages' | 'delay';
type Wrong = Partial<Record<Field | 'form', string>>;

const numberIn = (text: string, least: number, most: number): boolean => {
  const value = Number(text);
  return text.trim() !== '' && Number.isFinite(value) && value >= least && value <= most;
};

function wrongIn(order: Order): Wrong {
  const wrong: Wrong = {};
  if (order.urls.trim() === '') wrong.urls = 'Write the address of a site, such as council.example.';
  if (order.scope === 'prefix' && order.prefix.trim() === '') wrong.prefix = 'Write what the addresses begin with.';
  if (!numberIn(order.pages, 1, pagesMost)) wrong.pages = 'Write a whole number of pages, one or more.';
  if (!numberIn(order.delay, 0, delayMost)) wrong.delay = 'Write a number of seconds, at most an hour.';
  return wrong;
}

// The server says what is wrong in a sentence; it belongs to the field whose value or name stands in it.
function placeOf(problem: Problem, order: Order): Wrong {
  const says = problem.detail;
  if (problem.status === 409) return { form: says.replace(/; --force.*$/, '. To fetch it now, choose "also what is not due".') };
  const marks: [Field, string][] = [
    ['collection', 'collection'], ['pages', "'max_pages'"], ['delay', "'delay'"], ['prefix', `'${order.prefix.trim()}'`],
    ['urls', "'urls'"], ['urls', 'address'],
  ];
  const found = marks.find(([, mark]) => mark !== "''" && says.includes(mark));
  return found && problem.status === 400 ? { [found[0]]: `${says}.` } : { form: says };
}

function Labelled({ name, title, hint, wrong, children }: {
  name: string;
  title: string;
  hint?: string;
  wrong?: string;
  children: ComponentChildren;
}) {
  return (
    <div class={`field ${wrong ? 'is-wrong' : ''}`}>
      <label for={`crawl-${name}`}>{title}</label>
      {children}
      {hint && <p class="quiet" id={`crawl-${name}-hint`}>{hint}</p>}
      {wrong && <p class="bad" id={`crawl-${name}-wrong`}>{wrong}</p>}
    </div>
  );
}

const hinted = ['urls', 'delay'];
function described(name: Field, wrong: string | undefined) {
  const by = [...(hinted.includes(name) ? [`crawl-${name}-hint`] : []), ...(wrong ? [`crawl-${name}-wrong`] : [])];
  return {
    id: `crawl-${name}`,
    name,
    'aria-invalid': wrong ? true : undefined,
    'aria-describedby': by.length > 0 ? by.join(' ') : undefined,
  };
}

async function begin(order: Order): Promise<Crawl> {
  return post<Crawl>(api(['crawls']), {
    urls: order.urls.trim().split(/\s+/),
    collection: order.collection.trim() || 'default',
    scope: order.scope === 'prefix' ? order.prefix.trim() : order.scope,
    max_pages: Math.floor(Number(order.pages)),
    delay: Number(order.delay),
    period: order.period,
    force: order.force,
  });
}

function Choices({ order, set, wrong }: { order: Order; set: (changes: Partial<Order>) => void; wrong: Wrong }) {
  return (
    <div class="fields">
      <Labelled name="scope" title="How far it goes">
        <select id="crawl-scope" name="scope" value={order.scope} onChange={(event) => set({ scope: event.currentTarget.value })}>
          <option value="host">this site only</option>
          <option value="domain">its whole domain, with sites beside it</option>
          <option value="prefix">addresses that begin with …</option>
        </select>
      </Labelled>
      {order.scope === 'prefix' && (
        <Labelled name="prefix" title="They begin with" wrong={wrong.prefix}>
          <input {...described('prefix', wrong.prefix)} value={order.prefix} onInput={(event) => set({ prefix: event.currentTarget.value })} />
        </Labelled>
      )}
      <Labelled name="pages" title="Pages at most" wrong={wrong.pages}>
        <input {...described('pages', wrong.pages)} inputMode="numeric" value={order.pages} onInput={(event) => set({ pages: event.currentTarget.value })} />
      </Labelled>
      <Labelled name="delay" title="Seconds between two requests" hint="A site may ask for more; then it gets more." wrong={wrong.delay}>
        <input {...described('delay', wrong.delay)} inputMode="decimal" value={order.delay} onInput={(event) => set({ delay: event.currentTarget.value })} />
      </Labelled>
      <Labelled name="period" title="Again every">
        <select id="crawl-period" name="period" value={order.period} onChange={(event) => set({ period: Number(event.currentTarget.value) })}>
          {periods.map(([seconds, name]) => <option key={seconds} value={seconds}>{name}</option>)}
        </select>
      </Labelled>
      <label class="check">
        <input type="checkbox" name="force" checked={order.force} onChange={(event) => set({ force: event.currentTarget.checked })} />
        Fetch also what is not due
      </label>
    </div>
  );
}

export function CrawlForm({ collections }: { collections: string[] }) {
  const [order, setOrder] = useState<Order>({
    urls: '', collection: onlyCollection() ?? 'default', scope: 'host', prefix: '', pages: '1000000', delay: '1', period: 0, force: false,
  });
  const [wrong, setWrong] = useState<Wrong>({});
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const set = (changes: Partial<Order>) => setOrder({ ...order, ...changes });
  const tell = (now: Wrong) => {
    setWrong(now);
    // The first field that is wrong: people go on there. It is marked by then.
    window.setTimeout(() => form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus());
  };
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault();
    const found = wrongIn(order);
    if (Object.keys(found).length > 0) return tell(found);
    setWrong({});
    setBusy(true);
    try {
      const crawl = await begin(order);
      notify('The crawl has begun.');
      go(address('crawls', crawl.job));
    } catch (failure) {
      if (failure instanceof Problem && !failure.passing) tell(placeOf(failure, order));
      else notifyProblem(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form ref={form} class="panel crawl-form" aria-labelledby="begin" noValidate onSubmit={onSubmit}>
      <h2 id="begin">Bring in a site</h2>
      <div class="fields">
        <Labelled name="urls" title="Address" hint="Several sites: with blanks between them." wrong={wrong.urls}>
          <input
            {...described('urls', wrong.urls)} inputMode="url" autocomplete="off" spellcheck={false} placeholder="council.example"
            value={order.urls} onInput={(event) => set({ urls: event.currentTarget.value })}
          />
        </Labelled>
        <Labelled name="collection" title="Into the collection" wrong={wrong.collection}>
          <input
            {...described('collection', wrong.collection)} list="crawl-collections" maxLength={64} disabled={onlyCollection() !== null}
            value={order.collection} onInput={(event) => set({ collection: event.currentTarget.value })}
          />
          <datalist id="crawl-collections">{collections.map((name) => <option key={name} value={name} />)}</datalist>
        </Labelled>
      </div>
      <details class="more" open={wrong.pages || wrong.delay || wrong.prefix ? true : undefined}>
        <summary>More choices</summary>
        <Choices order={order} set={set} wrong={wrong} />
      </details>
      {wrong.form && <p class="bad" role="alert">{wrong.form}</p>}
      <button type="submit" class="main" disabled={busy}>
        <Icon name="web" /> {busy ? 'Beginning…' : 'Begin the crawl'}
      </button>
    </form>
  );
}
