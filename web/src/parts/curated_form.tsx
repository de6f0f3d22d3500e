// The form that brings episodes or clips in: addresses of feeds and recordings, or files.
import { useRef, useState } from 'preact/hooks';
import { api, post, Problem } from '../core/api';
import { isSound } from '../core/curating';
import { pickChosen, pickDropped, type Picked } from '../core/dropped';
import { plural } from '../core/format';
import type { CurateAnswer, CuratedKind } from '../core/research_types';
import { onlyCollection } from '../core/session';
import { startUpload } from '../core/uploads';
import { useDropped } from './dropping';
import { Icon } from './icons';
import { notify, notifyProblem } from './notice';
import { wordsOf } from './research_words';

interface Order {
  url: string;
  title: string;
  priority: string;
  collection: string;
}
type Field = keyof Order;
type Wrong = Partial<Record<Field, string>>;

const hints: Record<CuratedKind, string> = {
  episodes: 'Of a podcast feed (RSS or Atom), or of one recording. A feed is looked at again by itself.',
  clips: 'Of a short recording: a drop, a jingle, a quote.',
};
const examples: Record<CuratedKind, string> = {
  episodes: 'podcast.example/feed.xml',
  clips: 'podcast.example/jingle.mp3',
};
const priorityMost = 2 ** 31 - 1;

function wrongIn(order: Order): Wrong {
  const wrong: Wrong = {};
  if (order.url.trim() === '') wrong.url = 'Paste an address, or choose files.';
  const priority = Number(order.priority);
  if (!Number.isInteger(priority) || Math.abs(priority) > priorityMost) wrong.priority = 'Write a whole number. Higher ones come first.';
  return wrong;
}

function placeOf({ detail }: Problem): Wrong {
  if (/collection/.test(detail)) return { collection: detail };
  if (/priority/.test(detail)) return { priority: detail };
  return /title/.test(detail) ? { title: detail } : { url: detail };
}

// As people write it.
const withScheme = (url: string): string => (/^[a-z][a-z0-9+.-]*:/i.test(url) && !/^[^/]+:\d/.test(url) ? url : ['https:', '', url].join('/'));

interface FieldProps {
  name: Field;
  label: string;
  hint?: string;
  order: Order;
  wrong: Wrong;
  set: (changes: Partial<Order>) => void;
  attributes?: preact.InputHTMLAttributes<HTMLInputElement>;
}

function TextField({ name, label, hint, order, wrong, set, attributes = {} }: FieldProps) {
  const by = [hint && `curated-${name}-hint`, wrong[name] && `curated-${name}-wrong`].filter(Boolean).join(' ');
  return (
    <div class={`field ${wrong[name] ? 'is-wrong' : ''}`}>
      <label for={`curated-${name}`}>{label}</label>
      <input
        {...attributes} id={`curated-${name}`} name={name} autocomplete="off" value={order[name]} aria-invalid={wrong[name] ? true : undefined}
        aria-describedby={by || undefined} onInput={(event) => set({ [name]: event.currentTarget.value })}
      />
      {hint && <p class="quiet" id={`curated-${name}-hint`}>{hint}</p>}
      {wrong[name] && <p class="bad" id={`curated-${name}-wrong`}>{wrong[name]}</p>}
    </div>
  );
}

async function sendFiles(kind: CuratedKind, picked: Picked[], order: Order): Promise<void> {
  const sounds = picked.filter(isSound);
  if (sounds.length === 0) {
    notify('There is no recording in that: sounds and films are taken.', 'bad');
    return;
  }
  const collection = order.collection.trim() || 'default';
  const priority = Math.trunc(Number(order.priority)) || 0;
  await startUpload(sounds, { collection, ocr: false, splitByPage: false, language: '', as: kind, priority });
  const left = picked.length - sounds.length;
  notify(`${plural(sounds.length, 'recording')} on the way${left > 0 ? `; ${plural(left, 'other file')} left out` : ''}.`);
}

function useFiles(kind: CuratedKind, order: Order) {
  const latest = useRef(order);
  latest.current = order;
  const send = async (pick: () => Promise<Picked[]> | Picked[]) => {
    try {
      await sendFiles(kind, await pick(), latest.current);
    } catch (failure) {
      if (failure instanceof Error && !('status' in failure)) notify(failure.message, 'bad');
      else notifyProblem(failure);
    }
  };
  const over = useDropped((items) => send(() => pickDropped(items)));
  // Picked at once, before the input is emptied for the next time.
  const choose = (input: HTMLInputElement) => {
    void send(() => pickChosen(input.files));
    input.value = '';
  };
  return { over, choose };
}

export function CuratedForm({ kind, collections, added }: { kind: CuratedKind; collections: string[]; added: () => void }) {
  const words = wordsOf[kind];
  const [order, setOrder] = useState<Order>({ url: '', title: '', priority: '0', collection: onlyCollection() ?? 'default' });
  const [wrong, setWrong] = useState<Wrong>({});
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const files = useRef<HTMLInputElement>(null);
  const { over, choose } = useFiles(kind, order);
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
      const source = { url: withScheme(order.url.trim()), ...(order.title.trim() === '' ? {} : { title: order.title.trim() }) };
      await post<CurateAnswer>(api([kind]), {
        collection: order.collection.trim() || 'default', priority: Number(order.priority), sources: [source],
      });
      notify(`It is being fetched. ${words.All} appear below.`);
      setOrder({ ...order, url: '', title: '' });
      added();
    } catch (failure) {
      if (failure instanceof Problem && failure.status === 400) tell(placeOf(failure));
      else notifyProblem(failure);
    } finally {
      setBusy(false);
    }
  };
  const shared = { order, wrong, set };
  return (
    <form ref={form} class={`panel curated-form ${over ? 'over' : ''}`} aria-labelledby="add" noValidate onSubmit={onSubmit}>
      <h2 id="add">{over ? `Let go: they become ${words.many}` : `Add ${words.many}`}</h2>
      <div class="fields">
        <TextField {...shared} name="url" label="Address" hint={hints[kind]} attributes={{ inputMode: 'url', spellcheck: false, placeholder: examples[kind] }} />
        <TextField {...shared} name="title" label="Title" hint="Where the address does not tell one." attributes={{ maxLength: 250 }} />
        <TextField {...shared} name="priority" label="Priority" hint="Higher ones are researched first." attributes={{ inputMode: 'numeric' }} />
        <TextField {...shared} name="collection" label="Into the collection" attributes={{ list: 'curated-collections', maxLength: 64, disabled: onlyCollection() !== null }} />
        <datalist id="curated-collections">{collections.map((name) => <option key={name} value={name} />)}</datalist>
      </div>
      <div class="row">
        <button type="submit" class="main" disabled={busy}>
          <Icon name="plus" /> {busy ? 'Adding…' : 'Add it'}
        </button>
        <button type="button" onClick={() => files.current?.click()}>
          <Icon name="upload" /> Choose files
        </button>
        <span class="quiet">or drop recordings anywhere on this page</span>
      </div>
      <input
        ref={files} class="hidden" type="file" multiple tabIndex={-1} aria-hidden="true" data-test="recordings"
        onChange={(event) => choose(event.currentTarget)}
      />
    </form>
  );
}
