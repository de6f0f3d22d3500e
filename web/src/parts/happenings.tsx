// What happened to a partition, the newest first.
import { useEffect, useRef, useState } from 'preact/hooks';
import { api, get } from '../core/api';
import { count } from '../core/format';
import type { Page, PartitionEvent } from '../core/types';

const shown = 50;
const pageEvents = 1000;

const kindWords: Record<string, string> = {
  'partition.opened': 'The partition was opened',
  'partition.sealed': 'It was sealed: no item is taken any more',
  'partition.failed': 'It failed',
  'partition.closed': 'It is complete',
  'gate.opened': 'Gate opened',
  'item.complete': 'done',
  'item.failed': 'failed for good',
  'item.requeued': 'put back to work',
};

function wordsOf(event: PartitionEvent): string {
  const words = kindWords[event.kind] ?? event.kind;
  if (event.kind === 'gate.opened') return `Gate ${count(event.gate)} opened`;
  return event.item === null ? words : `${event.item}: ${words}`;
}

async function eventsBehind(partition: string, after: number, limit: number, signal: AbortSignal): Promise<PartitionEvent[]> {
  return (await get<Page<PartitionEvent>>(api(['partitions', partition, 'events'], { after, limit }), signal)).items;
}

// The list goes upward only. Numbers have no gaps, so the end of a long one is found by halving.
async function findTail(partition: string, from: number, signal: AbortSignal): Promise<number> {
  let low = from;
  let step = pageEvents;
  while ((await eventsBehind(partition, low + step, 1, signal)).length > 0) {
    low += step;
    step *= 2;
  }
  while (step > shown) {
    step = Math.ceil(step / 2);
    if ((await eventsBehind(partition, low + step, 1, signal)).length > 0) low += step;
  }
  return low;
}

async function loadTail(partition: string, known: PartitionEvent[], signal: AbortSignal): Promise<PartitionEvent[]> {
  const after = known.at(-1)?.number ?? 0;
  let found = await eventsBehind(partition, after, pageEvents, signal);
  if (found.length === pageEvents) {
    const tail = await findTail(partition, found.at(-1)!.number, signal);
    found = await eventsBehind(partition, tail - shown, pageEvents, signal);
    return found.slice(-shown);
  }
  return [...known, ...found].slice(-shown);
}

// Asked again with every `version` of the partition's counts.
export function Happenings({ partition, version }: { partition: string; version: string }) {
  const [events, setEvents] = useState<PartitionEvent[]>([]);
  const known = useRef<PartitionEvent[]>([]);
  useEffect(() => {
    const stop = new AbortController();
    loadTail(partition, known.current, stop.signal).then(
      (tail) => {
        if (stop.signal.aborted) return;
        known.current = tail;
        setEvents(tail);
      },
      () => {},
    );
    return () => stop.abort();
  }, [partition, version]);
  if (events.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="happened">
      <h2 id="happened">What happened</h2>
      <ol class="happenings" reversed tabIndex={0} aria-label="What happened, the newest first">
        {[...events].reverse().map((event) => (
          <li key={event.number}>
            <time dateTime={event.at}>{new Date(event.at).toLocaleTimeString()}</time>
            <span class={event.kind.endsWith('.failed') ? 'bad' : undefined}>{wordsOf(event)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
