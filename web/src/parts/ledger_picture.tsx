// What came in and what became of it: two sources, one sum, six outcomes, their widths by share.
// The picture is decoration; the table below it says the same in numbers.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { bytes, count, plural } from '../core/format';
import type { Job, Ledger } from '../core/types';
import '../style/ledger.css';
import '../style/tones.css';

export interface Sums {
  roots: number;
  files: number;
  bytes_in: number;
  skipped: number;
  outcomes: Outcome[]; // without those that are unknown
}

interface Outcome {
  tone: string; // of the colours --document …
  name: string;
  meaning: string;
  files: number;
  one?: string; // the name of a single one
  short?: string; // of the name, where there is little room
}

const singles: Record<string, string> = { document: 'document', container: 'container', error: 'error' };

const meanings: [tone: string, name: string, key: keyof Ledger, meaning: string][] = [
  ['document', 'Documents', 'documents', 'can be read and searched'],
  ['container', 'Containers', 'containers', 'archives and mails; what was in them is counted too'],
  ['converted', 'Converted', 'converted', 'a readable copy was made; the copy is the document'],
  ['void', 'Empty', 'empty', 'nothing was in them'],
  ['error', 'Errors', 'errors', 'could not be read; kept, and can be tried again'],
  ['in_progress', 'In progress', 'in_progress', 'being worked on'],
];

export function sumsOfLedger(ledger: Ledger): Sums {
  const outcomes: Outcome[] = meanings.map(([tone, name, key, meaning]) => ({ tone, name, one: singles[tone], meaning, files: Number(ledger[key]) }));
  return { ...ledger, outcomes };
}

// Of a job, an older server tells only documents and errors apart.
export function sumsOfJob(job: Job): Sums {
  const { documents, errors, files, files_done } = job;
  if (job.containers !== undefined) {
    const ledger = { ...job, bytes_in: job.bytes, in_progress: files - files_done, balanced: true };
    return sumsOfLedger(ledger);
  }
  const between: Outcome = { tone: 'container', name: 'Opened or converted', short: 'Opened', meaning: 'archives, mails, and files with a readable copy', files: files_done - documents - errors };
  const known: Partial<Ledger> = { documents, errors, in_progress: files - files_done };
  const outcomes: Outcome[] = meanings
    .filter(([, , key]) => known[key] !== undefined)
    .map(([tone, name, key, meaning]) => ({ tone, name, one: singles[tone], meaning, files: Number(known[key]) }));
  outcomes.splice(1, 0, between);
  return { roots: job.roots, files, bytes_in: job.bytes, skipped: job.skipped, outcomes };
}

// -- the picture --

const sumPx = 150; // the height of all files together
const thinnestPx = 2; // what is there can be seen, however small its share
const slotPx = 40; // two lines of words
const gapPx = 8;
const barPx = 12;
const widthFirstPx = 640;

interface Node {
  tone: string;
  name: string;
  note: string;
  files: number;
  short?: string;
  shortNote?: string;
}
interface Placed extends Node {
  y: number; // of its bar
  height: number;
  sumY: number; // where it meets the sum
}

function placeNodes(nodes: Node[], files: number): { placed: Placed[]; height: number } {
  let y = 0;
  let sumY = 0;
  const placed = nodes.map((node) => {
    const share = (node.files / files) * sumPx;
    const height = Math.max(thinnestPx, share);
    const one = { ...node, y, height, sumY };
    y += Math.max(height, slotPx) + gapPx;
    sumY += share;
    return one;
  });
  return { placed, height: y - gapPx };
}

// A band between two upright edges.
function band(x0: number, y0: number, x1: number, y1: number, height: number): string {
  const middle = (x0 + x1) / 2;
  return `M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}v${height}` +
    `C${middle} ${y1 + height} ${middle} ${y0 + height} ${x0} ${y0 + height}z`;
}

function useWidth() {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(widthFirstPx);
  useLayoutEffect(() => {
    const measure = () => setWidth(Math.max(240, box.current?.clientWidth ?? widthFirstPx));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  return { box, width };
}

function Label({ node, x, narrow }: { node: Placed; x: number; narrow: boolean }) {
  const y = node.y + Math.min(Math.max(node.height, slotPx) / 2 - 2, 60);
  return (
    <text x={x} y={y}>
      <tspan class="name">{narrow ? node.short ?? node.name : node.name}</tspan>
      <tspan x={x} dy="1.3em" class="under">{narrow ? node.shortNote ?? node.note : node.note}</tspan>
    </text>
  );
}

function sourcesOf(sums: Sums): Node[] {
  const inside = sums.files - sums.roots;
  const came = { tone: 'source', name: 'Came in', note: `${plural(sums.roots, 'file')}, ${bytes(sums.bytes_in)}`, shortNote: plural(sums.roots, 'file'), files: sums.roots };
  const found = { tone: 'found', name: 'Found inside, or made', short: 'Found inside', note: plural(inside, 'file'), files: inside };
  return [came, found].filter((node) => node.files > 0);
}

function Picture({ sums }: { sums: Sums }) {
  const { box, width } = useWidth();
  const left = placeNodes(sourcesOf(sums), sums.files);
  const nodes = sums.outcomes.filter((one) => one.files > 0);
  const right = placeNodes(nodes.map((one) => ({ ...one, note: shareText(one.files, sums.files) })), sums.files);
  const height = Math.max(left.height, right.height, sumPx + thinnestPx);
  const narrow = width < 480;
  const rightWords = narrow ? 104 : 170;
  const rightX = width - rightWords - barPx;
  const sumX = Math.round(rightX * (narrow ? 0.62 : 0.5));
  const sumTop = (height - sumPx) / 2;
  const leftTop = (height - left.height) / 2;
  const rightTop = (height - right.height) / 2;
  const leftNodes = left.placed.map((node) => ({ ...node, y: node.y + leftTop }));
  const rightNodes = right.placed.map((node) => ({ ...node, y: node.y + rightTop }));
  return (
    <div ref={box} class="ledger-picture" aria-hidden="true">
      <svg width={width} height={height + 4} viewBox={`0 -2 ${width} ${height + 4}`}>
        {leftNodes.map((node) => (
          <g key={node.tone} class={`tone-${node.tone}`}>
            <path class="flow" d={band(barPx, node.y, sumX, sumTop + node.sumY, node.height)} />
            <rect class="node" x={0} y={node.y} width={barPx} height={node.height} rx={2} />
          </g>
        ))}
        {rightNodes.map((node) => (
          <g key={node.tone} class={`tone-${node.tone}`}>
            <path class="flow" d={band(sumX + barPx, sumTop + node.sumY, rightX, node.y, node.height)} />
            <rect class="node" x={rightX} y={node.y} width={barPx} height={node.height} rx={2} />
          </g>
        ))}
        <rect class="sum" x={sumX} y={sumTop} width={barPx} height={sumPx + thinnestPx} rx={2} />
        {leftNodes.map((node) => <Label key={node.tone} node={node} x={barPx + 8} narrow={narrow} />)}
        {rightNodes.map((node) => <Label key={node.tone} node={node} x={rightX + barPx + 8} narrow={narrow} />)}
      </svg>
    </div>
  );
}

// -- the words --

function shareText(part: number, whole: number): string {
  const share = whole === 0 ? 0 : (part / whole) * 100;
  const text = share === 0 || share >= 10 ? share.toFixed(0) : share < 0.1 ? 'below 0.1' : share.toFixed(1);
  return `${count(part)} · ${text} %`;
}

export function BalanceSentence({ sums }: { sums: Sums }) {
  const parts = sums.outcomes.filter((one) => one.files > 0);
  const sum = parts.reduce((total, one) => total + one.files, 0);
  const words = parts.map((one) => plural(one.files, one.one ?? one.name.toLowerCase(), one.name.toLowerCase())).join(' + ');
  if (sum === sums.files) {
    return (
      <p class="balance">
        <strong>{plural(sums.files, 'file')}</strong> = {words}: <strong class="good">it balances.</strong>
      </p>
    );
  }
  return (
    <p class="balance bad">
      <strong>{plural(sums.files, 'file')}</strong>, but {words} is {count(sum)}: this does not balance. Please run{' '}
      <code>quern check</code> and tell us what it says.
    </p>
  );
}

function OutcomeTable({ sums }: { sums: Sums }) {
  return (
    <table class="ledger-table">
      <caption class="hidden">What became of the files</caption>
      <thead>
        <tr>
          <th scope="col">What became of them</th>
          <th scope="col" class="number">Files</th>
          <th scope="col" class="wide-only">What that means</th>
        </tr>
      </thead>
      <tbody>
        {sums.outcomes.map((one) => (
          <tr key={one.tone} class={one.files === 0 ? 'none' : undefined}>
            <td>
              <span class={`swatch tone-${one.tone}`} aria-hidden="true" /> {one.name}
            </td>
            <td class="number">{count(one.files)}</td>
            <td class="quiet wide-only">{one.meaning}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function LedgerPicture({ sums }: { sums: Sums }) {
  if (sums.files === 0) return <p class="quiet">No file has come in yet.</p>;
  return (
    <div class="ledger">
      <BalanceSentence sums={sums} />
      <Picture sums={sums} />
      <OutcomeTable sums={sums} />
      {sums.skipped > 0 && (
        <p class="quiet">
          {plural(sums.skipped, 'file was', 'files were')} left out: the collection has them already. They are not counted above.
        </p>
      )}
    </div>
  );
}
