// How loud a recording is from its beginning to its end, and where clips are in it. A mark is a button that plays
// there; the arrow keys go from mark to mark, so that a hundred marks are one stop of the Tab key.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { clock, plural } from '../core/format';
import { letterOf, toneOf, type Place } from './research_words';

const columnPx = 2;
const tallest = 100;
const flagPx = 26;
const lanesMax = 4;
export const marksMax = 400;

// The loudest of each column: a short cry must not vanish because the window is narrow.
function columnsOf(points: number[], wanted: number): number[] {
  const columns = Math.max(1, Math.min(points.length, wanted));
  return Array.from({ length: columns }, (_, column) => {
    const first = Math.floor((column * points.length) / columns);
    const end = Math.max(first + 1, Math.floor(((column + 1) * points.length) / columns));
    return Math.max(...points.slice(first, end));
  });
}

// An outline around the middle: forth along the top, back along the bottom.
function outlineOf(columns: number[]): string {
  const half = tallest / 2;
  const heights = columns.map((point) => Math.max(0.6, (point / 255) * half * 0.96));
  const top = heights.map((height, x) => `${x} ${(half - height).toFixed(1)}H${x + 1}`);
  const bottom = heights.map((height, x) => `${x + 1} ${(half + height).toFixed(1)}H${x}`).reverse();
  return `M${[...top, ...bottom].join('L')}Z`;
}

// A flag stands in the first row where it hides none before it; when all are full, in the last.
function lanesOf(places: Place[], duration: number, widthPx: number): number[] {
  const ends: number[] = [];
  return places.map(({ at }) => {
    const x = (at / duration) * widthPx;
    let lane = ends.findIndex((end) => end <= x);
    if (lane < 0) lane = Math.min(ends.length, lanesMax - 1);
    ends[lane] = x + flagPx;
    return lane;
  });
}

function useWidth(): [preact.RefObject<HTMLDivElement | null>, number] {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(800);
  useLayoutEffect(() => {
    const measure = () => setWidth(box.current?.clientWidth || 800);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  return [box, width];
}

interface FlagsProps {
  places: Place[];
  duration: number;
  widthPx: number;
  now: number;
  play: (place: Place) => void;
}

function Flags({ places, duration, widthPx, now, play }: FlagsProps) {
  const [chosen, setChosen] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const lanes = useMemo(() => lanesOf(places, duration, widthPx), [places, duration, widthPx]);
  const rows = Math.max(0, ...lanes) + 1;
  useEffect(() => {
    if (list.current) list.current.style.height = `${rows * flagPx}px`;
  }, [rows]);
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowRight: chosen + 1, ArrowLeft: chosen - 1, Home: 0, End: places.length - 1 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const wanted = Math.max(0, Math.min(places.length - 1, steps[event.key]));
    setChosen(wanted);
    list.current?.querySelectorAll<HTMLElement>('button')[wanted]?.focus();
  };
  const last = places.filter(({ at }) => at <= now + 0.05).length - 1;
  return (
    <div class="flags" role="group" aria-label={`${plural(places.length, 'mark')}; arrow keys go from one to the next`} ref={list} onKeyDown={onKeyDown}>
      {places.map((place, index) => (
        <button
          key={place.key}
          type="button"
          class={`flag ${toneOf(place.clip)} ${index === last ? 'heard' : ''}`}
          tabIndex={index === Math.min(chosen, places.length - 1) ? 0 : -1}
          aria-label={`${letterOf(place.clip)}: ${place.title}, at ${clock(place.at)}`}
          title={`${place.title}, at ${clock(place.at)}`}
          onFocus={() => setChosen(index)}
          onClick={() => play(place)}
          ref={(element) => {
            if (!element) return;
            const left = Math.min((place.at / duration) * widthPx, widthPx - flagPx);
            element.style.left = `${Math.max(0, left)}px`;
            element.style.top = `${lanes[index] * flagPx}px`;
          }}
        >
          {letterOf(place.clip)}
        </button>
      ))}
    </div>
  );
}

export interface WaveformProps {
  points: number[];
  duration: number; // in seconds
  places: Place[];
  lengths: number[]; // of clips, in seconds, as places name them; 0 where it is not known
  now: number;
  play: (place: Place) => void;
  goTo: (at: number) => void;
}

export function WaveformView({ points, duration, places, lengths, now, play, goTo }: WaveformProps) {
  const [box, widthPx] = useWidth();
  const columns = useMemo(() => columnsOf(points, Math.floor(widthPx / columnPx)), [points, widthPx]);
  const outline = useMemo(() => outlineOf(columns), [columns]);
  const shown = places.slice(0, marksMax);
  const x = (at: number) => (at / duration) * columns.length;
  const onClick = (event: MouseEvent) => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect();
    goTo(((event.clientX - left) / width) * duration);
  };
  return (
    <div class="waveform" ref={box}>
      {shown.length > 0 && <Flags places={shown} duration={duration} widthPx={widthPx} now={now} play={play} />}
      <svg viewBox={`0 0 ${columns.length} ${tallest}`} preserveAspectRatio="none" aria-hidden="true" onClick={onClick}>
        <defs>
          <clipPath id="heard-part">
            <rect x="0" y="0" width={Math.max(0, x(now))} height={tallest} />
          </clipPath>
        </defs>
        {shown.map((place) => (
          <rect key={place.key} class={`band ${toneOf(place.clip)}`} x={x(place.at)} y="0" height={tallest}
            width={Math.max(x(lengths[place.clip] ?? 0), columns.length / 400)} />
        ))}
        <path class="loudness" d={outline} />
        <path class="loudness heard" d={outline} clip-path="url(#heard-part)" />
        <path class="now" d={`M${x(now)} 0V${tallest}`} />
      </svg>
      <div class="scale quiet" aria-hidden="true">
        <span>{clock(0, 0)}</span>
        <span>{clock(duration / 2, 0)}</span>
        <span>{clock(duration, 0)}</span>
      </div>
      {places.length > marksMax && <p class="quiet">The first {marksMax} places are marked; the list has all of them.</p>}
    </div>
  );
}
