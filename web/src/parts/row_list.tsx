// The list of a page of things: its first part is kept fresh, more is asked for by a button, and where there is
// nothing the page teaches what would be here.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { api, get } from '../core/api';
import { useResource, type Freshness, type Resource } from '../core/hooks';
import type { Page } from '../core/types';
import type { Part } from './longer';
import { notifyProblem } from './notice';
import { Await } from './state';
import '../style/jobs.css';

export type Growing<T> = Resource<Part<T>> & { longer: () => void };

const pageRows = 50;

// Of things with numbers, the newest first. Older ones, once they were asked for, stay as they were.
export function useNewest<T extends { job: number }>(
  segments: (string | number)[],
  query: Record<string, string | number | null>,
  fresh: Freshness,
): Growing<T> {
  const path = api(segments, { ...query, limit: pageRows });
  const first = useResource<Page<T>>(path, fresh);
  const [older, setOlder] = useState<Page<T> | null>(null);
  useEffect(() => setOlder(null), [path]);
  const next = older ? older.next : first.data?.next;
  const longer = async () => {
    try {
      const page = await get<Page<T>>(api(segments, { ...query, limit: pageRows, before: next }));
      setOlder((was) => ({ items: [...(was?.items ?? []), ...page.items], next: page.next }));
    } catch (failure) {
      notifyProblem(failure);
    }
  };
  const items = first.data?.items ?? [];
  const oldest = items.at(-1)?.job ?? 0;
  const all = [...items, ...(older?.items ?? []).filter((one) => one.job < oldest)];
  return { ...first, data: first.data && { items: all, more: next !== undefined }, longer };
}

export function ShowMore<T>({ of, text = 'Show more' }: { of: Growing<T>; text?: string }) {
  return of.data?.more ? <button type="button" onClick={of.longer}>{text}</button> : null;
}

export function RowList<T>({ of, title, name, children, empty, more = 'Show older ones' }: {
  of: Growing<T>;
  title?: string;
  name: string; // of the heading, for those who jump there
  children: (items: T[]) => ComponentChildren; // the rows
  empty: ComponentChildren;
  more?: string;
}) {
  return (
    <Await from={of}>
      {(list) => {
        const rows = list.items.length === 0 ? null : children(list.items);
        if (rows === null) return empty;
        return (
          <section aria-labelledby={title ? name : undefined}>
            {title && <h2 id={name}>{title}</h2>}
            <ul class="job-rows">{rows}</ul>
            <ShowMore of={of} text={more} />
          </section>
        );
      }}
    </Await>
  );
}
