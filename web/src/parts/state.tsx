// How pages say that they wait, that something went wrong, and how far something is.
import type { ComponentChildren } from 'preact';
import type { Problem } from '../core/api';
import { className as classNames, percent } from '../core/format';
import type { FileClass } from '../core/types';
import { Icon } from './icons';

export function ProblemBox({ problem, retry }: { problem: Problem; retry?: () => void }) {
  return (
    <div class="problem" role="alert">
      <Icon name="error" />
      <p>{problem.detail}</p>
      {problem.passing && <p class="quiet">Trying again by itself…</p>}
      {retry && !problem.passing && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Loading({ what = 'Loading' }: { what?: string }) {
  return (
    <p class="loading" role="status">
      <span class="mill" aria-hidden="true" /> {what}…
    </p>
  );
}

// What a resource shows before it has data; then its children.
export function Await<T>({
  from,
  children,
}: {
  from: { data: T | null; problem: Problem | null; reload: () => void };
  children: (data: T) => ComponentChildren;
}) {
  // That the server is away is said once, at the top of the page; what was there stays.
  const isToldAbove = from.data !== null && from.problem?.status === 0;
  return (
    <>
      {from.problem && !isToldAbove && <ProblemBox problem={from.problem} retry={from.reload} />}
      {from.data !== null ? children(from.data) : !from.problem && <Loading />}
    </>
  );
}

export function Progress({ value, label, tone }: { value: number; label: string; tone?: 'bad' | 'done' }) {
  const share = Math.max(0, Math.min(1, value));
  return (
    <div
      class={`progress ${tone ?? ''}`}
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.floor(share * 100)}
      aria-valuetext={percent(share)}
    >
      <svg width="100%" height="8" aria-hidden="true">
        <rect class="bar" x="0" y="0" height="8" width={`${share * 100}%`} />
      </svg>
    </div>
  );
}

export function Badge({ tone, children }: { tone?: string; children: ComponentChildren }) {
  return <span class={`badge ${tone ?? ''}`}>{children}</span>;
}

export function ClassBadge({ of }: { of: FileClass }) {
  return <Badge tone={of}>{classNames[of] ?? of}</Badge>;
}

// Names and what they are worth, as a list.
export function Facts({ of }: { of: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {of
        .filter(([, value]) => value !== null && value !== undefined && value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
