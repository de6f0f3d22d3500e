// Lists that are asked for some at a time, and made longer by a button.
import { useEffect, useState } from 'preact/hooks';
import { api, get } from '../core/api';
import { useLoaded, type Freshness, type Resource } from '../core/hooks';
import type { Page } from '../core/types';

const atOnce = 1000; // the most that the server gives of most lists

export interface Part<T> {
  items: T[];
  more: boolean;
}

type Query = Record<string, string | number | null>;

interface Wanted {
  items: number;
  atOnce: number;
}

async function loadPart<T>(segments: (string | number)[], query: Query, wanted: Wanted, signal: AbortSignal): Promise<Part<T>> {
  const items: T[] = [];
  let after = query.after ?? undefined;
  while (true) {
    const limit = Math.min(wanted.atOnce, wanted.items - items.length);
    const page = await get<Page<T>>(api(segments, { ...query, after, limit }), signal);
    items.push(...page.items);
    if (page.next === undefined) return { items, more: false };
    if (items.length >= wanted.items) return { items, more: true };
    after = page.next;
  }
}

interface Steps {
  step: number;
  atOnce: number;
}

// `steps`: so many at first, and so many more each time.
export function useLonger<T>(segments: (string | number)[], query: Query, steps: number | Steps, fresh: Freshness): Resource<Part<T>> & { longer: () => void } {
  const { step, atOnce: most } = typeof steps === 'number' ? { step: steps, atOnce } : steps;
  const name = api(segments, query);
  const [wanted, setWanted] = useState(step);
  useEffect(() => setWanted(step), [name]);
  const list = useLoaded<Part<T>>(`${name} ${wanted}`, (signal) => loadPart<T>(segments, query, { items: wanted, atOnce: most }, signal), fresh);
  // While more of it is asked for, what is there stays.
  const [last, setLast] = useState<{ name: string; part: Part<T> } | null>(null);
  useEffect(() => {
    if (list.data) setLast({ name, part: list.data });
  }, [list.data]);
  const data = list.data ?? (last?.name === name ? last.part : null);
  return { ...list, data, longer: () => setWanted(wanted + step) };
}
