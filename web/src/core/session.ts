// Who we are to the server: it tells by where we come from, or by a token that it keeps in a cookie
// which scripts cannot read.
import { useEffect, useState } from 'preact/hooks';
import { api, get, onUnauthorized, post, Problem, remove } from './api';
import { startEvents } from './events';
import type { Session } from './types';

const retryMs = 1500;

// undefined: not known yet; null: the server wants a token.
let session: Session | null | undefined;
const listeners = new Set<() => void>();

function set(now: Session | null | undefined): void {
  session = now;
  if (now) startEvents(now.collection);
  for (const listener of [...listeners]) listener();
}

async function load(): Promise<void> {
  try {
    set(await get<Session>(api(['session'])));
  } catch (failure) {
    if (failure instanceof Problem && (failure.status === 401 || failure.status === 403)) return set(null);
    window.setTimeout(load, retryMs);
  }
}

export function startSession(): void {
  onUnauthorized(() => set(null));
  void load();
}

export async function signIn(token: string): Promise<void> {
  set(await post<Session>(api(['session']), { token }));
}

export async function signOut(): Promise<void> {
  await remove(api(['session']));
  window.location.assign('/');
}

export function useSession(): Session | null | undefined {
  const [, setTurn] = useState(0);
  useEffect(() => {
    const listener = () => setTurn((before) => before + 1);
    listeners.add(listener);
    listener(); // it may have changed since this was drawn
    return () => void listeners.delete(listener);
  }, []);
  return session;
}

// Readers see everything and change nothing.
export function may(what: 'edit'): boolean {
  return what === 'edit' && (session?.role === 'admin' || session?.role === 'editor');
}

// A token for one collection sees nothing else: lists must say so.
export const onlyCollection = (): string | null => session?.collection ?? null;
