// Keys that work on every page, and the dialog that tells them.
import { useEffect, useRef } from 'preact/hooks';
import { go } from '../core/router';

const keys: [string, string][] = [
  ['/', 'Search'],
  ['↓ ↑', 'Next and previous result, or row of a list'],
  ['Enter', 'Open it'],
  ['n  p', 'In a document: next and previous hit'],
  ['[  ]', 'In a document: the one before and after, of what was found'],
  ['u', 'In a document or a file: up, to where it came from'],
  ['g h', 'Home'],
  ['g s', 'Search page'],
  ['g c', 'Collections'],
  ['g j', 'Imports'],
  ['g e', 'Errors'],
  ['g w', 'Work'],
  ['?', 'These keys'],
];
const places: Record<string, string> = { h: '/', j: '/jobs', e: '/errors', s: '/search', c: '/collections', w: '/work' };
const sequenceMs = 1200;

let show = () => {};
export const showShortcuts = (): void => show();

export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target;
  if (!(target instanceof HTMLElement)) return false;
  if (target.closest('dialog') !== null) return true;
  if (target instanceof HTMLInputElement) return !/^(checkbox|radio|button)$/.test(target.type);
  return target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName);
}

function focusSearch(): void {
  const box = document.querySelector<HTMLInputElement>('main input[type=search]') ??
    document.querySelector<HTMLInputElement>('input[type=search]');
  if (box) {
    box.focus();
    box.select();
  } else {
    go('/search');
  }
}

export function Shortcuts() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    let sequence = 0; // until when a second key counts
    show = () => dialog.current?.open || dialog.current?.showModal();
    const onKey = (event: KeyboardEvent) => {
      if (isTyping(event) || event.metaKey || event.ctrlKey || event.altKey) return;
      const second = performance.now() < sequence ? places[event.key] : undefined;
      sequence = event.key === 'g' ? performance.now() + sequenceMs : 0;
      if (second !== undefined) go(second);
      else if (event.key === '/') {
        event.preventDefault();
        focusSearch();
      } else if (event.key === '?') show();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  return (
    <dialog ref={dialog} class="shortcuts" aria-labelledby="shortcuts-title">
      <h2 id="shortcuts-title">Keys</h2>
      <dl>
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              {key.split(/\s+/).map((one) => <kbd key={one}>{one}</kbd>)}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button autofocus>Close</button>
      </form>
    </dialog>
  );
}
