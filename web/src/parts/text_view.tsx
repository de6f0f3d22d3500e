// The text of a document, a portion at a time, with the words that were searched for marked.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { api, getText } from '../core/api';
import { count } from '../core/format';
import { useLoaded } from '../core/hooks';
import { patternOf } from '../core/words';
import { Icon } from './icons';
import { isTyping } from './shortcuts';
import { Await } from './state';

const portion = 100_000; // characters
const marksMax = 5_000;

interface Place {
  from: number;
  end: number;
}

// Where the words are, in all of the text.
function placesOf(text: string, words: string[]): Place[] {
  const wanted = patternOf(words);
  const places: Place[] = [];
  if (wanted === null) return places;
  for (const match of text.matchAll(wanted)) {
    if (places.length === marksMax) break;
    places.push({ from: match.index, end: match.index + match[0].length });
  }
  return places;
}

function marked(text: string, places: Place[]) {
  const parts = [];
  let from = 0;
  for (const place of places) {
    if (place.from >= text.length) break;
    parts.push(text.slice(from, place.from), <mark key={place.from}>{text.slice(place.from, place.end)}</mark>);
    from = place.end;
  }
  parts.push(text.slice(from));
  return parts;
}

// The mark comes into the middle: of the box where that scrolls, else of the page.
function bringIntoView(box: HTMLElement, mark: HTMLElement): void {
  if (box.scrollHeight > box.clientHeight + 1) box.scrollTop = mark.offsetTop - box.clientHeight / 2;
  else mark.scrollIntoView({ block: 'center' });
}

function useKeys(next: (by: number) => void): void {
  const latest = useRef(next);
  latest.current = next;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isTyping(event) || event.metaKey || event.ctrlKey || event.altKey) return;
      if (event.key === 'n') latest.current(1);
      if (event.key === 'p') latest.current(-1);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}

function Tools({ at, total, next }: { at: number; total: number; next: (by: number) => void }) {
  return (
    <div class="text-tools row" role="toolbar" aria-label="Hits in the text">
      <span class="quiet" role="status" data-test="marks">
        {total === 0 ? 'no marks' : `${count(at + 1)} of ${count(total)}${total === marksMax ? ' or more' : ''}`}
      </span>
      <button type="button" class="plain" aria-label="Previous hit" title="Previous hit (p)" disabled={total < 2} onClick={() => next(-1)}>
        <Icon name="back" />
      </button>
      <button type="button" class="plain" aria-label="Next hit" title="Next hit (n)" disabled={total < 2} onClick={() => next(1)}>
        <Icon name="chevron" />
      </button>
    </div>
  );
}

function Text({ text, words }: { text: string; words: string[] }) {
  const joined = words.join('\n');
  const places = useMemo(() => placesOf(text, words), [text, joined]);
  const [at, setAt] = useState(0);
  useEffect(() => setAt(0), [places]);
  const [longer, setLonger] = useState(portion);
  // As far as the hit that is looked at, however far that is.
  const shown = Math.max(longer, (places[at]?.from ?? 0) + portion);
  const body = useMemo(() => marked(text.slice(0, shown), places), [text, shown, places]);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const mark = box.current?.querySelectorAll('mark')[at];
    if (!mark) return;
    mark.classList.add('current');
    bringIntoView(box.current!, mark);
    return () => mark.classList.remove('current');
  }, [body, at]);
  const next = (by: number) => places.length > 0 && setAt((before) => (before + by + places.length) % places.length);
  useKeys(next);
  if (text === '') return <p class="quiet">There is no text in this document.</p>;
  return (
    <>
      {words.length > 0 && <Tools at={at} total={places.length} next={next} />}
      <div ref={box} class="text" dir="auto" tabIndex={0}>{body}</div>
      {shown < text.length && (
        <button type="button" onClick={() => setLonger(shown + portion)}>
          Show more ({count(text.length - shown)} characters are left)
        </button>
      )}
    </>
  );
}

export function TextView({ file, words }: { file: number; words: string[] }) {
  const path = api(['files', file, 'text']);
  const text = useLoaded<string>(path, (signal) => getText(path, signal));
  return (
    <section class="text-view" aria-label="Text">
      <Await from={text}>{(whole) => <Text key={file} text={whole} words={words} />}</Await>
    </section>
  );
}
