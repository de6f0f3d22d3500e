// The items of a partition: some at a time, by status and gate.
import { useState } from 'preact/hooks';
import { api, get, post } from '../core/api';
import { bytes, count, plural, when } from '../core/format';
import { useLoaded } from '../core/hooks';
import { go, usePlace, withQuery } from '../core/router';
import { may } from '../core/session';
import type { Item, Page, Partition } from '../core/types';
import { Icon } from './icons';
import { LeavingButton } from './leaving_button';
import { notify, notifyProblem } from './notice';
import { Await, Badge } from './state';
import { itemStatusName } from './work_words';

const pageItems = 25;
const refreshMs = 1500;
const statuses = ['available', 'running', 'failed', 'complete'];

interface Shown {
  items: Item[];
  more: boolean;
}

async function loadItems(query: Record<string, string | null>, partition: string, wanted: number, signal: AbortSignal): Promise<Shown> {
  const limit = Math.min(1000, wanted);
  const items: Item[] = [];
  let after: string | undefined;
  while (true) {
    const page = await get<Page<Item>>(api(['partitions', partition, 'items'], { ...query, after, limit }), signal);
    items.push(...page.items);
    if (page.next === undefined) return { items, more: false };
    if (items.length >= wanted) return { items, more: true };
    after = String(page.next);
  }
}

function Why({ item }: { item: Item }) {
  const last = item.error_messages.at(-1);
  if (last && item.status !== 'complete') {
    const before = item.error_messages.length - 1;
    return (
      <span class="why bad">
        {last.message}
        {before > 0 && <span class="quiet"> (and {count(before)} before)</span>}
      </span>
    );
  }
  const isLater = item.status === 'available' && item.due !== null && new Date(item.due).getTime() > Date.now() + 1000;
  return isLater ? <span class="why quiet">not before {when(item.due)}</span> : null;
}

export async function requeueItem(item: Item, reload: () => void): Promise<void> {
  try {
    await post(api(['partitions', item.partition, 'requeue']), { item: item.item });
    notify(`${item.item} is back to work.`);
    reload();
  } catch (failure) {
    notifyProblem(failure);
  }
}

function ItemRow({ item, reload }: { item: Item; reload: () => void }) {
  const requeue = () => requeueItem(item, reload);
  return (
    <tr>
      <td>
        <a href={api(['partitions', item.partition, 'items', item.item, 'data'])} download={item.item} title={`Its bytes, ${bytes(item.bytes)}`}>
          {item.item}
        </a>
        <Why item={item} />
      </td>
      <td class="number">{count(item.gate)}</td>
      <td><Badge tone={item.status}>{itemStatusName[item.status]}</Badge></td>
      <td class="number wide-only">{count(item.calls)}</td>
      {may('edit') && (
        <td>
          {item.status === 'failed' && (
            <LeavingButton onClick={requeue} label={`Try again: ${item.item}`}>
              <Icon name="retry" size={16} /> <span class="wide-only">Try again</span>
            </LeavingButton>
          )}
        </td>
      )}
    </tr>
  );
}

function Filters({ status, gate }: { status: string; gate: string }) {
  const change = (name: string) => (event: Event) =>
    go(withQuery({ [name]: (event.currentTarget as HTMLInputElement | HTMLSelectElement).value || null }), 'replace');
  return (
    <div class="item-filters">
      <label>
        Status
        <select value={status} onChange={change('status')}>
          <option value="">all</option>
          {statuses.map((one) => <option key={one} value={one}>{itemStatusName[one].toLowerCase()}</option>)}
        </select>
      </label>
      <label>
        Gate
        <input type="number" min={0} value={gate} placeholder="all" onChange={change('gate')} />
      </label>
    </div>
  );
}

function ItemTable({ items, reload }: { items: Item[]; reload: () => void }) {
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label="Table: items">
      <table class="items">
        <thead>
          <tr>
            <th scope="col">Item</th>
            <th scope="col" class="number">Gate</th>
            <th scope="col">Status</th>
            <th scope="col" class="number wide-only">Calls</th>
            {may('edit') && <th scope="col"><span class="hidden">What you can do</span></th>}
          </tr>
        </thead>
        <tbody>{items.map((item) => <ItemRow key={item.item} item={item} reload={reload} />)}</tbody>
      </table>
    </div>
  );
}

export function Items({ partition }: { partition: Partition }) {
  const { query } = usePlace();
  const status = statuses.includes(query.get('status') ?? '') ? query.get('status')! : '';
  const gate = /^\d{1,7}$/.test(query.get('gate') ?? '') ? query.get('gate')! : '';
  const [wanted, setWanted] = useState(pageItems);
  const name = `items ${partition.partition} ${status} ${gate} ${wanted}`;
  const load = (signal: AbortSignal) => loadItems({ status, gate }, partition.partition, wanted, signal);
  const list = useLoaded<Shown>(name, load, {
    on: ['partition.changed'],
    when: (event) => event.data.partition === partition.partition,
    everyMs: partition.status === 'complete' || wanted > 1000 ? undefined : refreshMs,
  });
  return (
    <section class="panel" aria-labelledby="items">
      <header>
        <h2 id="items">{plural(partition.items, 'item')}</h2>
        <Filters status={status} gate={gate} />
      </header>
      <Await from={list}>
        {({ items, more }) => (
          <>
            {items.length === 0 ? <p class="quiet">None to show.</p> : <ItemTable items={items} reload={list.reload} />}
            {more && (
              <button type="button" onClick={() => setWanted(wanted + pageItems * 4)}>
                Show more
              </button>
            )}
          </>
        )}
      </Await>
    </section>
  );
}
