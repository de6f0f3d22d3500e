// The box that everything begins with. Where no answers are below it, suggestions complete the last word; where they
// are, the arrow keys lead to them, and the browser's list of suggestions would take those keys.
import { useEffect, useRef, useState } from 'preact/hooks';
import { api, get } from '../core/api';
import { useNarrow, useSettled } from '../core/hooks';
import { Icon } from './icons';

const suggestMs = 150;

export interface SearchBoxProps {
  value: string;
  collection: string;
  onInput: (value: string) => void;
  onSubmit: () => void;
  autofocus?: boolean;
  large?: boolean;
}

function lastWord(text: string): string {
  return /[\p{L}\p{N}]{2,}$/u.exec(text)?.[0] ?? '';
}

function useSuggestions(value: string, collection: string, wanted: boolean): string[] {
  const [words, setWords] = useState<string[]>([]);
  const settled = useSettled(value, suggestMs);
  useEffect(() => {
    if (!wanted || lastWord(settled) === '') return setWords([]);
    const stop = new AbortController();
    get<{ suggestions: { word: string }[] }>(api(['suggest'], { q: settled, collection, limit: 6 }), stop.signal).then(
      (answer) => setWords(answer.suggestions.map((one) => one.word)),
      () => setWords([]),
    );
    return () => stop.abort();
  }, [settled, collection]);
  return words;
}

export function SearchBox(props: SearchBoxProps) {
  const input = useRef<HTMLInputElement>(null);
  const narrow = useNarrow();
  const words = useSuggestions(props.value, props.collection, props.large === true);
  useEffect(() => {
    if (props.autofocus) input.current?.focus({ preventScroll: true });
  }, []);
  const stem = props.value.slice(0, props.value.length - lastWord(props.value).length);
  return (
    <form
      class={`search-box ${props.large ? 'large' : ''}`}
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        props.onSubmit();
      }}
    >
      <Icon name="search" size={22} />
      <input
        ref={input}
        type="search"
        name="q"
        value={props.value}
        aria-label={props.collection === '' ? 'Search everything' : `Search ${props.collection}`}
        placeholder={narrow ? 'Words, “phrases”, type:mail' : 'Search words, “phrases”, type:mail, from:ines, date:2019..'}
        autocomplete="off"
        list={props.large ? 'suggestions' : undefined}
        maxLength={4000}
        onInput={(event) => props.onInput(event.currentTarget.value)}
      />
      {props.large && <datalist id="suggestions">{words.map((word) => <option key={word} value={stem + word} />)}</datalist>}
      <button type="submit" class="main">
        Search
      </button>
    </form>
  );
}
