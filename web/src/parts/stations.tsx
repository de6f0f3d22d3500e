// The gates of a partition as stations on a line: those passed, the one that is open, those to come.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { count } from '../core/format';
import type { GateLine } from '../core/types';

const radius = 18;
const around = 2 * Math.PI * radius;

type Standing = 'passed' | 'current' | 'ahead';

const standingName: Record<Standing, string> = { passed: 'passed', current: 'open now', ahead: 'waits' };

function standingOf(gate: number, current: number, isComplete: boolean): Standing {
  if (isComplete || gate < current) return 'passed';
  return gate === current ? 'current' : 'ahead';
}

function Station({ gate, standing }: { gate: GateLine; standing: Standing }) {
  const share = gate.items === 0 ? 0 : gate.complete / gate.items;
  const most = gate.at_least ? ' or more' : '';
  return (
    <li class={`${standing} ${gate.failed > 0 ? 'has-failed' : ''}`} aria-current={standing === 'current' ? 'step' : undefined}>
      <svg class="stop" width="44" height="44" viewBox="0 0 44 44" aria-hidden="true">
        <circle cx="22" cy="22" r={radius} />
        <circle class="done" cx="22" cy="22" r={radius} transform="rotate(-90 22 22)" stroke-dasharray={`${share * around} ${around}`} />
        <text x="22" y="22">{gate.gate}</text>
      </svg>
      <span class="at"><span class="hidden">Gate {count(gate.gate)}: </span>{standingName[standing]}</span>
      <span>{count(gate.complete)} of {count(gate.items)}{most} done</span>
      {gate.running > 0 && <span class="quiet">{count(gate.running)} running</span>}
      {gate.failed > 0 && <span class="bad">{count(gate.failed)} failed</span>}
    </li>
  );
}

export function Stations({ gates, current, isComplete }: { gates: GateLine[]; current: number; isComplete: boolean }) {
  const shown = gates.some((gate) => gate.gate === current)
    ? gates
    : [...gates, { gate: current, items: 0, available: 0, running: 0, failed: 0, complete: 0 }].sort((a, b) => a.gate - b.gate);
  // Where the line is longer than the page is wide, it begins at the gate that is open.
  const line = useRef<HTMLOListElement>(null);
  useLayoutEffect(() => {
    const stop = line.current?.querySelector<HTMLElement>('.current');
    if (stop) line.current!.scrollLeft = stop.offsetLeft + stop.offsetWidth / 2 - line.current!.clientWidth / 2;
  }, [current, shown.length]);
  return (
    <ol ref={line} class="stations" tabIndex={0} aria-label="Gates">
      {shown.map((gate) => (
        <Station key={gate.gate} gate={gate} standing={standingOf(gate.gate, current, isComplete)} />
      ))}
    </ol>
  );
}
