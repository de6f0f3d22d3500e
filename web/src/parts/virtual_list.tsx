// A list of any length, of which only what can be seen is in the page and was asked for.
//
// Browsers cannot make an element of a million rows tall. So the scrolled element has at most
// `tallestPx`; small moves of the bar go row by row, large ones go to that share of the list.
import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

const tallestPx = 4_000_000;
const pageRows = 100;
const pagesKept = 12;
const beyond = 6; // rows drawn above and below what is visible

export interface VirtualListProps<T> {
  count: number;
  rowPx: number;
  label: string;
  load: (offset: number, limit: number, signal: AbortSignal) => Promise<T[]>;
  row: (value: T, index: number) => ComponentChildren;
  version?: unknown; // another one: everything is asked for anew
  turn?: number; // another one: what is in view is asked for again, and stays visible meanwhile
}

interface Pages<T> {
  rows: Map<number, T[]>; // by page number, oldest used first
  asked: Map<number, AbortController>;
  stale: Set<number>; // shown, but asked for again when next in view
}

function keepRecent<T>(pages: Pages<T>): void {
  for (const number of pages.rows.keys()) {
    if (pages.rows.size <= pagesKept) return;
    pages.rows.delete(number);
  }
}

function usePages<T>({ load, version, turn, count }: VirtualListProps<T>) {
  const pages = useRef<Pages<T>>({ rows: new Map(), asked: new Map(), stale: new Set() });
  const [, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;

  useEffect(() => {
    for (const stop of pages.current.asked.values()) stop.abort();
    pages.current = { rows: new Map(), asked: new Map(), stale: new Set() };
    setTurn((before) => before + 1);
    return () => {
      for (const stop of pages.current.asked.values()) stop.abort();
    };
  }, [version]);

  useEffect(() => {
    pages.current.stale = new Set(pages.current.rows.keys());
    setTurn((before) => before + 1);
  }, [turn]);

  // What is far from the view is not waited for any more.
  const want = useCallback((first: number, last: number) => {
    const { rows, asked, stale } = pages.current;
    for (const [number, stop] of asked) {
      if (number >= first - 1 && number <= last + 1) continue;
      stop.abort();
      asked.delete(number);
    }
    for (let number = first; number <= last; ++number) {
      if ((rows.has(number) && !stale.has(number)) || asked.has(number)) continue;
      stale.delete(number);
      const stop = new AbortController();
      asked.set(number, stop);
      const mine = pages.current;
      latest.current(number * pageRows, pageRows, stop.signal).then(
        (loaded) => {
          mine.asked.delete(number);
          mine.rows.set(number, loaded);
          keepRecent(mine);
          setTurn((before) => before + 1);
        },
        () => void mine.asked.delete(number),
      );
    }
  }, []);

  // The last page of a list that grows is looked at again.
  const before = useRef(count);
  useEffect(() => {
    if (before.current !== count) pages.current.rows.delete(Math.floor(Math.max(0, before.current - 1) / pageRows));
    before.current = count;
  }, [count]);

  const at = (index: number): T | undefined => pages.current.rows.get(Math.floor(index / pageRows))?.[index % pageRows];
  return { at, want };
}

export function VirtualList<T>(props: VirtualListProps<T>) {
  const { count, rowPx, label } = props;
  const box = useRef<HTMLDivElement>(null);
  const [viewPx, setViewPx] = useState(600);
  const [top, setTop] = useState(0); // of the view, in the full list
  const [chosen, setChosen] = useState(0);
  const chosenNow = useRef(0); // keys come faster than pictures
  const list = useRef<HTMLUListElement>(null);
  const hasFocus = useRef(false);
  const focusWanted = useRef(false); // by the keys: once the row is there
  const barTop = useRef(0);
  const topNow = useRef(0);
  const { at, want } = usePages(props);

  const fullPx = count * rowPx;
  const barPx = Math.min(fullPx, tallestPx);
  const place = (wanted: number) => {
    topNow.current = Math.max(0, Math.min(wanted, fullPx - viewPx));
    setTop(topNow.current);
  };

  useLayoutEffect(() => {
    const element = box.current!;
    element.style.maxHeight = `${fullPx + 2}px`; // a short list has no room below it
    const measure = () => setViewPx(element.clientHeight || 600);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [fullPx]);

  const onScroll = () => {
    const bar = box.current!.scrollTop;
    const moved = bar - barTop.current;
    barTop.current = bar;
    if (barPx === fullPx) return place(bar);
    const atEnd = bar <= 0 || bar >= barPx - viewPx - 1;
    const share = bar / Math.max(1, barPx - viewPx);
    if (atEnd || Math.abs(moved) > viewPx) return place(share * (fullPx - viewPx));
    return place(topNow.current + moved);
  };

  const choose = (index: number) => {
    chosenNow.current = index;
    setChosen(index);
  };
  const goTo = (index: number) => {
    const wanted = Math.max(0, Math.min(count - 1, index));
    choose(wanted);
    focusWanted.current = true;
    const rowTop = wanted * rowPx;
    let aim = topNow.current;
    if (rowTop < aim) aim = rowTop;
    if (rowTop + rowPx > aim + viewPx) aim = rowTop + rowPx - viewPx;
    if (aim === topNow.current) return;
    place(aim);
    const bar = barPx === fullPx ? aim : (aim / Math.max(1, fullPx - viewPx)) * (barPx - viewPx);
    barTop.current = bar;
    box.current!.scrollTop = bar;
    barTop.current = box.current!.scrollTop;
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const perView = Math.max(1, Math.floor(viewPx / rowPx) - 1);
    const now = chosenNow.current;
    const steps: Record<string, number> = {
      ArrowDown: now + 1, ArrowUp: now - 1, PageDown: now + perView, PageUp: now - perView,
      Home: 0, End: count - 1,
    };
    if (!(event.key in steps) || event.target instanceof HTMLInputElement) return;
    event.preventDefault();
    goTo(steps[event.key]);
  };

  const first = Math.max(0, Math.floor(top / rowPx) - beyond);
  const last = Math.min(count - 1, Math.ceil((top + viewPx) / rowPx) + beyond);
  useEffect(() => {
    if (count > 0) want(Math.floor(first / pageRows), Math.floor(last / pageRows));
    const lost = hasFocus.current && document.activeElement === document.body;
    if (!focusWanted.current && !lost) return;
    const target = box.current!.querySelector<HTMLElement>(`[aria-posinset="${chosenNow.current + 1}"] :is(a, button)`);
    if (target) focusWanted.current = false;
    // While the row is not there, the list has the focus, and the keys still work.
    (target ?? list.current!).focus({ preventScroll: true });
  });

  const rows = [];
  for (let index = first; index <= last; ++index) {
    const value = at(index);
    const y = barTop.current + (index * rowPx - top);
    rows.push(
      <li
        key={index}
        class={`virtual-row ${index === chosen ? 'chosen' : ''}`}
        aria-setsize={count}
        aria-posinset={index + 1}
        onFocusIn={() => choose(index)}
        ref={(element) => {
          if (element) element.style.transform = `translateY(${y}px)`;
        }}
      >
        {value === undefined ? <span class="pending">…</span> : props.row(value, index)}
      </li>,
    );
  }
  return (
    <div ref={box} class="virtual" onScroll={onScroll}>
      <ul
        class="virtual-rows"
        role="list"
        aria-label={label}
        tabIndex={-1}
        onKeyDown={onKeyDown}
        onFocusIn={() => void (hasFocus.current = true)}
        onFocusOut={(event) => {
          // A row that is scrolled away takes the focus with it; that is not the person's doing.
          const from = event.target as Node;
          queueMicrotask(() => {
            if (from.isConnected) hasFocus.current = box.current?.contains(document.activeElement) ?? false;
          });
        }}
        ref={(element) => {
          list.current = element;
          if (element) element.style.height = `${barPx}px`;
        }}
      >
        {rows}
      </ul>
    </div>
  );
}
