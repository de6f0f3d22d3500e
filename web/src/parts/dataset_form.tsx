// The form that asks for a dataset.
import { useRef, useState } from 'preact/hooks';
import { api, post, Problem } from '../core/api';
import { address, go } from '../core/router';
import { onlyCollection } from '../core/session';
import type { Dataset } from '../core/dataset_types';
import { Icon } from './icons';
import { notify, notifyProblem } from './notice';

interface Order {
  url: string;
  collection: string;
  ingest: boolean;
  bundle: boolean;
}
type Wrong = { url?: string; collection?: string };

function placeOf({ detail }: Problem): Wrong {
  return /collection/.test(detail) ? { collection: `${detail}.` } : { url: `${detail}.` };
}

function described(name: 'url' | 'collection', wrong: string | undefined) {
  const by = [...(name === 'url' ? ['dataset-url-hint'] : []), ...(wrong ? [`dataset-${name}-wrong`] : [])];
  return {
    id: `dataset-${name}`,
    name,
    'aria-invalid': wrong ? true : undefined,
    'aria-describedby': by.length > 0 ? by.join(' ') : undefined,
  };
}

function Check({ name, checked, set, title, hint }: { name: string; checked: boolean; set: (on: boolean) => void; title: string; hint: string }) {
  return (
    <div class="field">
      <label class="check">
        <input type="checkbox" name={name} checked={checked} aria-describedby={`dataset-${name}-hint`} onChange={(event) => set(event.currentTarget.checked)} />
        {title}
      </label>
      <p class="quiet" id={`dataset-${name}-hint`}>{hint}</p>
    </div>
  );
}

export function DatasetForm({ collections }: { collections: string[] }) {
  const [order, setOrder] = useState<Order>({ url: '', collection: onlyCollection() ?? 'default', ingest: false, bundle: false });
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
    if (order.url.trim() === '') return tell({ url: 'Paste a DOI, or the address of a dataset.' });
    setWrong({});
    setBusy(true);
    try {
      const { ingest, bundle } = order;
      const dataset = await post<Dataset>(api(['filesets']), {
        url: order.url.trim(), collection: order.collection.trim() || 'default', ingest, bundle,
      });
      notify('The dataset was asked for.');
      go(address('datasets', dataset.job));
    } catch (failure) {
      if (failure instanceof Problem && failure.status === 400) tell(placeOf(failure));
      else notifyProblem(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form ref={form} class="panel dataset-form" aria-labelledby="ask" noValidate onSubmit={onSubmit}>
      <h2 id="ask">Keep a dataset</h2>
      <div class="fields">
        <div class={`field ${wrong.url ? 'is-wrong' : ''}`}>
          <label for="dataset-url">DOI or address</label>
          <input
            {...described('url', wrong.url)} inputMode="url" autocomplete="off" spellcheck={false} placeholder="10.5281/zenodo.1028059"
            value={order.url} onInput={(event) => set({ url: event.currentTarget.value })}
          />
          <p class="quiet" id="dataset-url-hint">Of a dataset on Zenodo, figshare, Dataverse, Dryad, OSF, GitHub, archive.org and others; or of one file.</p>
          {wrong.url && <p class="bad" id="dataset-url-wrong">{wrong.url}</p>}
        </div>
        <div class={`field ${wrong.collection ? 'is-wrong' : ''}`}>
          <label for="dataset-collection">Into the collection</label>
          <input
            {...described('collection', wrong.collection)} list="dataset-collections" maxLength={64} disabled={onlyCollection() !== null}
            value={order.collection} onInput={(event) => set({ collection: event.currentTarget.value })}
          />
          <datalist id="dataset-collections">{collections.map((name) => <option key={name} value={name} />)}</datalist>
          {wrong.collection && <p class="bad" id="dataset-collection-wrong">{wrong.collection}</p>}
        </div>
        <Check name="ingest" checked={order.ingest} set={(ingest) => set({ ingest })} title="Make its files searchable"
          hint="Each verified file is read, too, as if it had been added." />
        <Check name="bundle" checked={order.bundle} set={(bundle) => set({ bundle })} title="Take it as one bundle"
          hint="Where the platform offers all files as one." />
      </div>
      <button type="submit" class="main" disabled={busy}>
        <Icon name="download" /> {busy ? 'Asking…' : 'Keep it'}
      </button>
    </form>
  );
}
