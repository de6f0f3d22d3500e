// Where we are, and going elsewhere: paths of this server, with the browser's own history.
import { useEffect, useState } from 'preact/hooks';

export interface Place {
  path: string[]; // the decoded segments: /jobs/7 is ['jobs', '7']
  query: URLSearchParams;
  href: string;
}

type Listener = () => void;
const listeners = new Set<Listener>();

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export function here(): Place {
  const { pathname, search } = window.location;
  const path = pathname.split('/').filter((segment) => segment !== '').map(decode);
  return { path, query: new URLSearchParams(search), href: pathname + search };
}

function tell(): void {
  for (const listener of [...listeners]) listener();
}

export function go(href: string, how: 'push' | 'replace' = 'push'): void {
  if (href === here().href) how = 'replace';
  if (how === 'push') {
    window.history.pushState(null, '', href);
    window.scrollTo(0, 0);
  } else {
    window.history.replaceState(null, '', href);
  }
  tell();
}

// The address with some parameters changed; null takes one away.
export function withQuery(changes: Record<string, string | null>): string {
  const query = new URLSearchParams(window.location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  return window.location.pathname + (text === '' ? '' : `?${text}`);
}

export function address(...segments: (string | number)[]): string {
  return '/' + segments.map((segment) => encodeURIComponent(String(segment))).join('/');
}

export function usePlace(): Place {
  const [place, setPlace] = useState(here);
  useEffect(() => {
    const listener = () => setPlace((before) => (before.href === here().href ? before : here()));
    listeners.add(listener);
    listener(); // it may have changed since this was drawn
    return () => void listeners.delete(listener);
  }, []);
  return place;
}

function isPlainClick(event: MouseEvent): boolean {
  return event.button === 0 && !event.defaultPrevented &&
    !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
}

// Links of ours change the page without loading it anew.
function onClick(event: MouseEvent): void {
  if (!isPlainClick(event) || !(event.target instanceof Element)) return;
  const link = event.target.closest('a');
  if (!link || link.target !== '' || link.hasAttribute('download')) return;
  const url = new URL(link.href, window.location.href);
  if (url.origin !== window.location.origin || url.pathname.startsWith('/api/')) return;
  if (url.hash !== '' && url.pathname === window.location.pathname) return;
  event.preventDefault();
  go(url.pathname + url.search);
}

export function startRouter(): void {
  window.addEventListener('popstate', tell);
  document.addEventListener('click', onClick);
}
