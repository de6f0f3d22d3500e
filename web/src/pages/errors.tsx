// What went wrong: by kind, then by message, then file by file; and trying it again.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { api, get, post } from '../core/api';
import { count, kindAdvice, kindName, plural } from '../core/format';
import { useResource, useTitle } from '../core/hooks';
import { address, go, usePlace, withQuery } from '../core/router';
import { may, onlyCollection } from '../core/session';
import type { ErrorGroup, ErrorGroups, ErrorLine, Job, Ledger, Page } from '../core/types';
import { Empty, Icon } from '../parts/icons';
import { LeavingButton } from '../parts/leaving_button';
import { confirm, notifyProblem } from '../parts/notice';
import { Await, Loading } from '../parts/state';
import '../style/errors.css';

const filesPerPage = 50;
const pagesAtOnce = 20; // a page may hold few of a group: so many are looked through for more
const askAbove = 200;
const jobLinksShown = 5;

interface Scope {
  collection: string;
  job: string | null;
}

const openOf = (group: ErrorGroup): number => group.count - group.superseded;

// -- the files of a group --

interface Listed {
  lines: ErrorLine[];
  next?: string | number;
}

async function loadMore(scope: Scope, group: ErrorGroup, from: Listed): Promise<Listed> {
  const lines = [...from.lines];
  let after = from.next;
  for (let page = 0; page < pagesAtOnce; ++page) {
    const query = { ...scope, kind: group.kind, message: group.message, limit: filesPerPage, after };
    const found = await get<Page<ErrorLine>>(api(['errors'], query));
    lines.push(...found.items);
    after = found.next;
    if (after === undefined || lines.length - from.lines.length >= filesPerPage) break;
  }
  return { lines, next: after };
}

function ErrorFile({ line, retried }: { line: ErrorLine; retried: (job: number) => void }) {
  const [busy, setBusy] = useState(false);
  const [job, setJob] = useState<number | null>(null);
  const retry = async () => {
    setBusy(true);
    try {
      const begun = await post<Job>(api(['files', line.file, 'retry']));
      setJob(begun.job);
      retried(begun.job);
    } catch (failure) {
      notifyProblem(failure);
      setBusy(false);
    }
  };
  return (
    <li>
      <a href={address('files', line.file)}>{line.filename}</a>
      {job !== null && <a class="quiet" href={address('jobs', job)}>tried again: see how it goes</a>}
      {job === null && may('edit') && (
        <LeavingButton busy={busy} onClick={retry} label={`Try again: ${line.filename}`}>
          <Icon name="retry" size={16} /> Try again
        </LeavingButton>
      )}
    </li>
  );
}

function GroupFiles({ scope, group, retried }: { scope: Scope; group: ErrorGroup; retried: (job: number) => void }) {
  const [listed, setListed] = useState<Listed | null>(null);
  const [busy, setBusy] = useState(false);
  const more = async () => {
    setBusy(true);
    try {
      setListed(await loadMore(scope, group, listed ?? { lines: [] }));
    } catch (failure) {
      notifyProblem(failure);
    }
    setBusy(false);
  };
  useEffect(() => void more(), []);
  if (listed === null) return <Loading />;
  return (
    <>
      <ul class="error-files">
        {listed.lines.map((line) => <ErrorFile key={line.file} line={line} retried={retried} />)}
      </ul>
      {listed.lines.length === 0 && <p class="quiet">All of them were tried again since.</p>}
      {listed.next !== undefined && (
        <button type="button" disabled={busy} onClick={more}>
          Show more
        </button>
      )}
    </>
  );
}

// -- a group, and a kind --

interface GroupRowProps {
  scope: Scope;
  group: ErrorGroup;
  turn: number;
  retried: (job: number) => void;
  children?: ComponentChildren;
}
function GroupRow({ scope, group, turn, retried, children }: GroupRowProps) {
  const { query } = usePlace();
  const isOpen = query.get('kind') === group.kind && query.get('message') === group.message;
  const examples = group.examples.map((example) => example.filename);
  const hidden = group.count - examples.length;
  const toggle = (event: Event) => {
    event.preventDefault();
    go(withQuery(isOpen ? { kind: null, message: null } : { kind: group.kind, message: group.message }), 'replace');
  };
  const message = group.message === group.kind || group.message === '' ? kindName(group.kind) : group.message;
  return (
    <details class="error-group" open={isOpen}>
      <summary onClick={toggle}>
        <span class="how-many">{count(openOf(group))}</span>
        <span class="words">
          <span class="message">{message}</span>
          {!isOpen && (
            <span class="quiet examples">
              {examples.join(', ')}
              {hidden > 0 && ` and ${count(hidden)} more`}
            </span>
          )}
          {group.superseded > 0 && <span class="quiet examples">{count(group.superseded)} more were tried again since</span>}
        </span>
      </summary>
      {isOpen && (
        <div class="inside">
          {children}
          <GroupFiles key={turn} scope={scope} group={group} retried={retried} />
        </div>
      )}
    </details>
  );
}

interface Retrying {
  retried: number;
  jobs: number[];
  done: boolean;
}

interface Wanted {
  collection: string;
  kind: string;
  message?: string; // all of the kind without
}

// Two hundred at a time, until the server has no more.
async function retryAll(what: Wanted, tell: (now: Retrying) => void): Promise<void> {
  let after: string | undefined;
  let retried = 0;
  const jobs: number[] = [];
  do {
    const part = await post<{ retried: number; jobs: number[]; next?: string }>(api(['retry'], { ...what, after }));
    retried += part.retried;
    jobs.push(...part.jobs.slice(0, Math.max(0, jobLinksShown - jobs.length)));
    after = part.next;
    tell({ retried, jobs, done: after === undefined });
  } while (after !== undefined);
}

function RetryState({ now }: { now: Retrying }) {
  if (now.done && now.retried === 0) return <p role="status">None of them can be tried again: they have no bytes of their own, or were tried since.</p>;
  return (
    <p role="status">
      {plural(now.retried, 'file')} {now.retried === 1 ? 'is' : 'are'} tried again{now.done ? '.' : ' so far…'}{' '}
      {now.jobs.map((job) => (
        <span key={job}>
          <a href={address('jobs', job)}>Try {job}</a>{' '}
        </span>
      ))}
      {now.retried > now.jobs.length && <a href="/jobs">and the others</a>}
    </p>
  );
}

function KindPanel({ scope, kind, groups, reload }: { scope: Scope; kind: string; groups: ErrorGroup[]; reload: () => void }) {
  const [now, setNow] = useState<Retrying | null>(null);
  const [turn, setTurn] = useState(0); // another one: the files are listed anew
  const open = groups.reduce((sum, group) => sum + openOf(group), 0);
  const retry = async (files: number, message?: string) => {
    const text = 'Each one is worked on anew. What fails again shows up here again.';
    if (files > askAbove && !(await confirm({ title: `Try ${plural(files, 'file')} again?`, text, yes: 'Try them again' }))) return;
    setNow({ retried: 0, jobs: [], done: false });
    try {
      await retryAll({ collection: scope.collection, kind, message }, setNow);
    } catch (failure) {
      notifyProblem(failure);
      setNow((before) => before && { ...before, done: true });
    }
    setTurn(turn + 1);
    reload();
  };
  const busy = now !== null && !now.done;
  const mayRetry = may('edit') && scope.job === null; // the server tries again by collection
  return (
    <section class="panel" aria-labelledby={`kind-${kind}`}>
      <header>
        <h2 id={`kind-${kind}`}>
          {kindName(kind)} <span class="quiet">({count(open)})</span>
        </h2>
        {mayRetry && open > 0 && (
          <button type="button" disabled={busy} onClick={() => retry(open)}>
            <Icon name="retry" /> {busy ? 'Trying again…' : open === 1 ? 'Try it again' : `Try all ${count(open)} again`}
          </button>
        )}
      </header>
      <p>{kindAdvice(kind)}</p>
      {now && <RetryState now={now} />}
      {groups.map((group) => (
        <GroupRow key={group.message} scope={scope} group={group} turn={turn} retried={reload}>
          {mayRetry && groups.length > 1 && openOf(group) > 1 && (
            <button type="button" disabled={busy} onClick={() => retry(openOf(group), group.message)}>
              <Icon name="retry" /> Try these {count(openOf(group))} again
            </button>
          )}
        </GroupRow>
      ))}
    </section>
  );
}

function byKind(groups: ErrorGroup[]): [string, ErrorGroup[]][] {
  const kinds = new Map<string, ErrorGroup[]>();
  for (const group of groups) kinds.set(group.kind, [...(kinds.get(group.kind) ?? []), group]);
  const sum = (of: ErrorGroup[]) => of.reduce((total, group) => total + openOf(group), 0);
  return [...kinds.entries()].sort(([, a], [, b]) => sum(b) - sum(a));
}

// -- the page --

function Nothing() {
  return (
    <Empty title="Nothing went wrong">
      <p>
        Every file that came in could be read. Where one cannot, because it is damaged, locked or of an unknown kind, it is
        kept and shown here with what you can do.
      </p>
    </Empty>
  );
}

function Groups({ scope }: { scope: Scope }) {
  const groups = useResource<ErrorGroups>(api(['errors', 'groups'], { ...scope }), {
    on: ['error.created', 'job.finished'],
    when: (event) => event.data.collection === scope.collection,
  });
  return (
    <Await from={groups}>
      {({ items, others, counted_is, counted }) => {
        const shown = items.filter((group) => openOf(group) > 0);
        const tried = items.reduce((sum, group) => sum + group.superseded, 0);
        return (
          <>
            {counted_is === 'at_least' && <p class="quiet">Only the first {count(counted)} errors are counted here.</p>}
            {shown.length === 0 && <Nothing />}
            {byKind(shown).map(([kind, of]) => (
              <KindPanel key={kind} scope={scope} kind={kind} groups={of} reload={groups.reload} />
            ))}
            {others !== undefined && others > 0 && <p class="quiet">{plural(others, 'more error')} of rarer kinds are not shown.</p>}
            {tried > 0 && <p class="quiet">{plural(tried, 'error')} of before {tried === 1 ? 'was' : 'were'} tried again and {tried === 1 ? 'is' : 'are'} not counted.</p>}
          </>
        );
      }}
    </Await>
  );
}

function Chooser({ ledgers, chosen }: { ledgers: Ledger[]; chosen: string }) {
  const onChange = (event: Event) => {
    const collection = (event.currentTarget as HTMLSelectElement).value;
    go(withQuery({ collection, job: null, kind: null, message: null }));
  };
  return (
    <label class="row">
      Collection
      <select value={chosen} onChange={onChange}>
        {!ledgers.some((ledger) => ledger.collection === chosen) && <option value={chosen}>{chosen}</option>}
        {ledgers.map((ledger) => (
          <option key={ledger.collection} value={ledger.collection}>
            {ledger.collection}
          </option>
        ))}
      </select>
    </label>
  );
}

function WithChoice({ wanted, job }: { wanted: string | null; job: string | null }) {
  const all = useResource<Page<Ledger>>(api(['collections']), { on: ['job.finished'] });
  return (
    <Await from={all}>
      {({ items }) => {
        const worst = items.reduce<Ledger | null>((most, one) => (one.errors > (most?.errors ?? 0) ? one : most), null);
        const chosen = wanted ?? worst?.collection ?? items[0]?.collection;
        if (chosen === undefined) return <Nothing />;
        const known = items.filter((ledger) => ledger.errors > 0 || ledger.collection === chosen);
        return (
          <>
            <div class="error-scope">
              {(known.length > 0 || wanted !== null) && <Chooser ledgers={known} chosen={chosen} />}
              <OnlyJob job={job} />
            </div>
            <Groups key={`${chosen}/${job}`} scope={{ collection: chosen, job }} />
          </>
        );
      }}
    </Await>
  );
}

function OnlyJob({ job }: { job: string | null }) {
  if (job === null) return null;
  return (
    <span class="row">
      Only of <a href={address('jobs', job)}>import {job}</a>
      <a class="button" href={withQuery({ job: null, kind: null, message: null })}>
        Show all
      </a>
    </span>
  );
}

export default function ErrorsPage() {
  useTitle('Errors');
  const { query } = usePlace();
  const only = onlyCollection();
  const job = /^\d+$/.test(query.get('job') ?? '') ? query.get('job') : null;
  return (
    <>
      <h1>Errors</h1>
      {only === null ? (
        <WithChoice wanted={query.get('collection')} job={job} />
      ) : (
        <>
          <OnlyJob job={job} />
          <Groups key={`${only}/${job}`} scope={{ collection: only, job }} />
        </>
      )}
    </>
  );
}
