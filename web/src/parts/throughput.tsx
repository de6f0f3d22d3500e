// How fast a job goes: files per second over the last minutes, from the events as they came.
import { useEffect, useState } from 'preact/hooks';
import { onEvents } from '../core/events';
import { count, duration } from '../core/format';
import type { JobProgress } from '../core/types';
import '../style/jobs.css';

const keptSeconds = 300;
const jobsKept = 20;
const binSeconds = 2;
const drawnMin = 30; // seconds: a young job does not begin as a wall

interface Sample {
  at: number; // seconds
  done: number;
}

// Kept while the page lives, so that coming back to a job finds its past. Oldest job first.
const histories = new Map<number, Sample[]>();

function remember({ job, files_done }: JobProgress): void {
  const history = histories.get(job) ?? [];
  histories.delete(job);
  histories.set(job, history);
  for (const oldest of histories.keys()) {
    if (histories.size <= jobsKept) break;
    histories.delete(oldest);
  }
  const at = performance.now() / 1000;
  const last = history.at(-1);
  if (last && at - last.at < binSeconds / 2) last.done = files_done;
  else history.push({ at, done: files_done });
  while (history.length > 0 && history[0].at < at - keptSeconds - binSeconds) history.shift();
}

onEvents(['job.progress', 'job.finished'], (event) => remember(event.data as unknown as JobProgress));

// Files per second in each bin, the newest last.
function ratesOf(history: Sample[], now: number): number[] {
  if (history.length < 2) return [];
  const from = Math.max(history[0].at, now - keptSeconds);
  const bins = Math.max(1, Math.ceil((now - from) / binSeconds));
  const rates = new Array<number>(bins).fill(0);
  for (let i = 1; i < history.length; ++i) {
    const begin = Math.max(from, history[i - 1].at);
    const end = history[i].at;
    if (end <= begin) continue;
    const rate = Math.max(0, history[i].done - history[i - 1].done) / (end - history[i - 1].at);
    for (let bin = Math.floor((begin - from) / binSeconds); bin < bins; ++bin) {
      const overlap = Math.min(end, from + (bin + 1) * binSeconds) - Math.max(begin, from + bin * binSeconds);
      if (overlap <= 0) break;
      rates[bin] += (rate * overlap) / binSeconds;
    }
  }
  return rates;
}

function niceTop(value: number): number {
  const size = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 2, 5, 10].map((factor) => factor * size).find((top) => top >= value) ?? 10 * size;
}

const width = 600;
const height = 120;

export function Throughput({ job, running }: { job: number; running: boolean }) {
  const [, setTurn] = useState(0);
  useEffect(() => {
    if (!running) return;
    const timer = window.setInterval(() => setTurn((before) => before + 1), 1000);
    return () => window.clearInterval(timer);
  }, [running]);
  const history = histories.get(job) ?? [];
  const last = history.at(-1)?.at ?? 0;
  const clock = performance.now() / 1000;
  // A bin that has only begun would look like a standstill.
  const now = running && clock - last > 2 * binSeconds ? clock : last;
  const rates = ratesOf(history, now);
  if (rates.length === 0) return running ? <p class="quiet">The plot begins as soon as there is something to draw.</p> : null;
  const seconds = Math.max(drawnMin, rates.length * binSeconds);
  const most = Math.max(...rates);
  const top = niceTop(most);
  const x = (bin: number) => width - ((rates.length - bin) * binSeconds * width) / seconds;
  const y = (rate: number) => height - (rate / top) * (height - 4);
  const line = rates.map((rate, bin) => `${x(bin + 0.5).toFixed(1)} ${y(rate).toFixed(1)}`).join('L');
  const average = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
  const summary = `Files per second over the last ${duration(rates.length * binSeconds)}: ` +
    `${count(Math.round(average))} on average, ${count(Math.round(most))} at most.`;
  return (
    <figure class="throughput">
      <div class="plot">
        <span class="most quiet" aria-hidden="true">{count(top)}/s</span>
        <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={summary}>
          <path class="grid" d={`M0 4H${width}M0 ${height / 2 + 2}H${width}M0 ${height - 0.5}H${width}`} />
          <path class="area" d={`M${x(0.5).toFixed(1)} ${height}L${line}L${x(rates.length - 0.5).toFixed(1)} ${height}z`} />
          <path class="line" d={`M${line}`} />
        </svg>
      </div>
      <figcaption class="quiet">{summary}</figcaption>
    </figure>
  );
}
