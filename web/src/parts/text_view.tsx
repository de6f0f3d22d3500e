// The text of a document, a portion at a time, with the words that were searched for marked.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { api, getText } from '../core/api';
import { count } from '../core/format';
import { patternOf } from '../core/words';
import { isTyping } from './shortcuts';
import { Loading } from './state';

const portion = 100_000; // characters
const marksMax = 5_000;

function marked(text: string, words: string[]) {
  const wanted = patternOf(words);
  if (wanted === null) return [text];
  const parts = [];
  let from = 0;
  let marks = 0;
  for (const match of text.matchAll(wanted)) {
    if (++marks > marksMax) break;
    parts.push(text.slice(from, match.index), <mark key={match.index}>{match[0]}</mark>);
    from = match.index + match[0].length;
  }
  parts.push(text.slice(from));
  return parts;
}

// The first mark comes into view; n and p go from one to the next.
function useMarkKeys(box: { current: HTMLElement | null }, body: unknown): void {
  const at = useRef(0);
  useEffect(() => {
    const marks = () => [...(box.current?.querySelectorAll('mark') ?? [])];
    const show = (wanted: number) => {
      const all = marks();
      if (all.length === 0) return;
      all[at.current]?.classList.remove('current');
      at.current = (wanted + all.length) % all.length;
      all[at.current].classList.add('current');
      // The text moves, the page does not.
      box.current!.scrollTop = all[at.current].offsetTop - box.current!.clientHeight / 2;
    };
    show(0);
    const onKey = (event: KeyboardEvent) => {
      if (isTyping(event) || event.metaKey || event.ctrlKey || event.altKey) return;
      if (event.key === 'n') show(at.current + 1);
      if (event.key === 'p') show(at.current - 1);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [body]);
}

export function TextView({ file, words }: { file: number; words: string[] }) {
  const [text, setText] = useState<string | null>(null);
  const [shown, setShown] = useState(portion);
  useEffect(() => {
    const stop = new AbortController();
    getText(api(['files', file, 'text']), stop.signal).then(setText, (failure) => {
      if (!stop.signal.aborted) setText((failure as Error).message);
    });
    return () => stop.abort();
  }, [file]);
  const joined = words.join('\n');
  // As far as the first hit, however far that is.
  useEffect(() => {
    const first = text === null ? -1 : (patternOf(words)?.exec(text)?.index ?? -1);
    if (first >= 0) setShown((before) => Math.max(before, first + portion));
  }, [text, joined]);
  const body = useMemo(() => (text === null ? null : marked(text.slice(0, shown), words)), [text, shown, joined]);
  const box = useRef<HTMLDivElement>(null);
  useMarkKeys(box, body);
  if (text === null) return <Loading what="Opening the text" />;
  return (
    <section class="text-view" aria-label="Text">
      {text === '' ? <p class="quiet">There is no text in this document.</p> : <div ref={box} class="text" dir="auto" tabIndex={0}>{body}</div>}
      {shown < text.length && (
        <button type="button" onClick={() => setShown(shown + portion)}>
          Show more ({count(text.length - shown)} characters are left)
        </button>
      )}
    </section>
  );
}
