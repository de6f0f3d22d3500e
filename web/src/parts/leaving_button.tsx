// A button whose work done takes it away. The focus then goes to what stands next, not to nowhere.
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

export function LeavingButton({ busy = false, label, onClick, children }: {
  busy?: boolean; // not `disabled`: that would take the focus at once
  label: string;
  onClick: () => void;
  children: ComponentChildren;
}) {
  const element = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => () => {
    const mine = element.current;
    if (!mine || document.activeElement !== mine) return;
    const all = [...document.querySelectorAll<HTMLElement>('main a[href], main button:not(:disabled)')];
    const at = all.indexOf(mine);
    const near = [...all.slice(at + 1), ...all.slice(0, at).reverse(), document.getElementById('main')!];
    queueMicrotask(() => near.find((one) => one.isConnected)?.focus());
  }, []);
  return (
    <button ref={element} type="button" aria-disabled={busy} aria-label={label} onClick={() => busy || onClick()}>
      {children}
    </button>
  );
}
