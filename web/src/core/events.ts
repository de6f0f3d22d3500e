// The server's event stream, one for the whole page. It comes back by itself when the server does;
// then everybody hears 'connected' and asks the resources anew, for events are kept for nobody.
//
// A browser opens six connections to a server, for all its tabs together. So only a page that can be seen
// listens: with a dozen documents open in tabs, the thirteenth still opens.
import { useEffect, useState } from 'preact/hooks';
import { api, parse } from './api';

export interface ServerEvent {
  type: string;
  data: Record<string, unknown>;
}

type Listener = (event: ServerEvent) => void;

const types = [
  'job.progress', 'job.finished', 'file.ingested', 'document.created', 'error.created',
  'page.captured', 'pack.published', 'worker.changed', 'partition.changed', 'research.finding', 'lagged',
];
const reconnectMs = 1500;
const hiddenMs = 2000; // so long a page that is covered goes on listening

const listeners = new Map<string, Set<Listener>>();
let source: EventSource | null = null;
let timer: number | undefined; // of the next try, or of the end
let connected = true; // until we know better: no alarm while the first try is under way
let collection: string | null = null;

function tell(event: ServerEvent): void {
  for (const listener of [...(listeners.get(event.type) ?? [])]) listener(event);
}

function setConnected(now: boolean): void {
  if (connected === now) return;
  connected = now;
  tell({ type: 'connection', data: { connected } });
}

function onMessage(message: MessageEvent<string>): void {
  let data: Record<string, unknown> = {};
  try {
    data = parse(message.data);
  } catch {
    return;
  }
  tell({ type: message.type, data });
}

function connect(): void {
  window.clearTimeout(timer);
  source?.close();
  source = new EventSource(api(['events'], { collection }));
  source.onopen = () => {
    setConnected(true);
    tell({ type: 'connected', data: {} });
  };
  source.onerror = () => {
    setConnected(false);
    disconnect();
    // The browser gives up after some answers; we do not.
    timer = window.setTimeout(connect, reconnectMs);
  };
  for (const type of types) source.addEventListener(type, onMessage);
}

function disconnect(): void {
  window.clearTimeout(timer);
  source?.close();
  source = null;
}

function onVisibility(): void {
  window.clearTimeout(timer);
  if (document.hidden) timer = window.setTimeout(disconnect, hiddenMs);
  else if (source === null) connect();
}

// `only`: a token for one collection hears of that one alone.
export function startEvents(only: string | null): void {
  collection = only;
  if (source !== null) return;
  document.addEventListener('visibilitychange', onVisibility);
  // A page that the browser keeps for the way back must not keep its connection.
  window.addEventListener('pagehide', disconnect);
  window.addEventListener('pageshow', onVisibility);
  connect();
}

export function onEvents(wanted: string[], listener: Listener): () => void {
  for (const type of wanted) {
    if (!listeners.has(type)) listeners.set(type, new Set());
    listeners.get(type)!.add(listener);
  }
  return () => {
    for (const type of wanted) listeners.get(type)?.delete(listener);
  };
}

export function useConnected(): boolean {
  const [now, setNow] = useState(connected);
  useEffect(() => {
    setNow(connected);
    return onEvents(['connection'], () => setNow(connected));
  }, []);
  return now;
}
