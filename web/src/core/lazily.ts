// Pages whose code comes when they are opened. A server that is away is waited for, and a server that was replaced
// meanwhile has other files: then the page is loaded anew. Without this a page that was opened while the server
// was away stayed blank for good.
import type { ComponentType } from 'preact';
import { lazy } from 'preact/compat';
import { isSending } from './uploads';

const retryMs = 1500;
const triesMax = 3; // with a server that answers
const reloadKey = 'quern.reloaded';
const reloadMs = 60_000; // not again within

const pause = (ms: number) => new Promise<void>((resolve) => window.setTimeout(resolve, ms));

async function answers(): Promise<boolean> {
  try {
    return (await fetch('/api/v1/session', { credentials: 'same-origin' })).status < 500;
  } catch {
    return false;
  }
}

// A style that did not come would not be asked for again.
function renewStyles(): void {
  for (const link of document.querySelectorAll<HTMLLinkElement>('link[rel=stylesheet]')) {
    if (link.sheet === null) link.replaceWith(link.cloneNode());
  }
}

// An upload would have to be dropped again, so it is finished first.
function mayReload(): boolean {
  return !isSending() && Date.now() - Number(sessionStorage.getItem(reloadKey) ?? 0) > reloadMs;
}

async function insist<T>(load: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; ) {
    try {
      return await load();
    } catch (failure) {
      while (!(await answers())) await pause(retryMs);
      if (++tries >= triesMax) {
        if (!mayReload()) throw failure;
        sessionStorage.setItem(reloadKey, String(Date.now()));
        window.location.reload();
        await new Promise(() => {}); // it goes away
      }
      renewStyles();
      await pause(tries * 200);
    }
  }
}

export function lazily<Props>(load: () => Promise<{ default: ComponentType<Props> }>) {
  return lazy(() => insist(load));
}
