// What pages are made of: something that is asked of the server and kept fresh.
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { get, noAnswer, Problem } from './api';
import { onEvents, type ServerEvent } from './events';

const retryMs = 2000;
const eventsMs = 1000; // a burst of events asks once

export interface Resource<T> {
  data: T | null;
  problem: Problem | null;
  loading: boolean;
  reload: () => void;
}

export interface Freshness {
  on?: string[]; // asked again when one of these events comes
  when?: (event: ServerEvent) => boolean; // and this holds
  everyMs?: number; // asked again so often
}

function asProblem(failure: unknown): Problem {
  return failure instanceof Problem ? failure : new Problem(0, 'internal', noAnswer);
}

// Null asks for nothing. What was there stays visible while it is asked again.
export function useResource<T>(path: string | null, fresh: Freshness = {}): Resource<T> {
  return useLoaded<T>(path, (signal) => get<T>(path!, signal), fresh);
}

// The same for what takes several requests; `path` names it, and another name is another thing.
export function useLoaded<T>(
  path: string | null,
  load: (signal: AbortSignal) => Promise<T>,
  fresh: Freshness = {},
): Resource<T> {
  const [state, setState] = useState<{ path: string | null; data: T | null; problem: Problem | null }>({
    path,
    data: null,
    problem: null,
  });
  const [loading, setLoading] = useState(path !== null);
  const [turn, setTurn] = useState(0);
  // A question that is under way is answered before it is asked again: else a server that takes longer than the
  // time between two events would never be heard.
  const busy = useRef(false);
  const wanted = useRef(false);
  const reload = useCallback(() => {
    if (busy.current) wanted.current = true;
    else setTurn((before) => before + 1);
  }, []);

  useEffect(() => {
    if (path === null) return;
    const stop = new AbortController();
    let again: number | undefined;
    busy.current = true;
    wanted.current = false;
    setLoading(true);
    const end = () => {
      busy.current = false;
      setLoading(false);
      if (wanted.current) setTurn((before) => before + 1);
    };
    load(stop.signal).then(
      (data) => {
        if (stop.signal.aborted) return;
        setState({ path, data, problem: null });
        end();
      },
      (failure: unknown) => {
        if (stop.signal.aborted) return;
        const problem = asProblem(failure);
        setState((before) => ({ path, data: before.path === path ? before.data : null, problem }));
        end();
        if (problem.passing) again = window.setTimeout(reload, retryMs);
      },
    );
    return () => {
      stop.abort();
      busy.current = false;
      window.clearTimeout(again);
    };
  }, [path, turn]);

  useRefresh(path === null ? {} : fresh, reload);
  const current = state.path === path;
  return { data: current ? state.data : null, problem: current ? state.problem : null, loading, reload };
}

function useRefresh(fresh: Freshness, reload: () => void): void {
  const latest = useRef(fresh);
  latest.current = fresh;
  const types = (fresh.on ?? []).join(' ');
  useEffect(() => {
    if (types === '') return;
    let waiting: number | undefined;
    const stop = onEvents([...types.split(' '), 'connected'], (event) => {
      const { when } = latest.current;
      if (event.type !== 'connected' && when && !when(event)) return;
      waiting ??= window.setTimeout(() => {
        waiting = undefined;
        reload();
      }, eventsMs);
    });
    return () => {
      stop();
      window.clearTimeout(waiting);
    };
  }, [types]);
  useEffect(() => {
    if (!fresh.everyMs) return;
    const timer = window.setInterval(() => {
      if (!document.hidden) reload();
    }, fresh.everyMs);
    return () => window.clearInterval(timer);
  }, [fresh.everyMs]);
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title === '' ? 'Quern' : `${title} · Quern`;
  }, [title]);
}

// Whether the window is as narrow as a phone or a tablet; the style sheets have the same measure.
export function useNarrow(): boolean {
  const query = useMemo(() => window.matchMedia('(max-width: 52rem)'), []);
  const [narrow, setNarrow] = useState(query.matches);
  useEffect(() => {
    const onChange = () => setNarrow(query.matches);
    query.addEventListener('change', onChange);
    return () => query.removeEventListener('change', onChange);
  }, []);
  return narrow;
}

// The value as it was `ms` ago, once it stands still.
export function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(value), ms);
    return () => window.clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
