// The tree: a file with where it came from, what became of it and what is in it; or the files that a
// job brought.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { api, post } from '../core/api';
import { onEvents } from '../core/events';
import { baseName, bytes, count, kindAdvice, kindName, plural, typeName, visible, when } from '../core/format';
import { useResource, useTitle } from '../core/hooks';
import { address, go } from '../core/router';
import { may } from '../core/session';
import type { Explanation, FileDetails, FileLine, Job, Page } from '../core/types';
import { FileRows, stateName } from '../parts/file_rows';
import { Empty, Icon, iconOf } from '../parts/icons';
import { JobBadge, jobTitle } from '../parts/job';
import { notify, notifyProblem } from '../parts/notice';
import { isTyping } from '../parts/shortcuts';
import { Await, ClassBadge, Facts } from '../parts/state';
import { stepName, work } from '../parts/steps';
import '../style/tones.css';
import '../style/tree.css';

const valuesShown = 60;
const valueChars = 500;
const refreshMs = 1500;
const hopeless = ['unhandled', 'corrupt', 'encrypted', 'unsupported']; // another try alone will hardly help

function useUpKey(href: string | null): void {
  // At once: somebody who goes up twice is fast.
  useLayoutEffect(() => {
    if (href === null) return;
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'u' && !isTyping(event) && !event.ctrlKey && !event.metaKey && !event.altKey) go(href);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [href]);
}

// Another number whenever files of that job have moved on.
function useTurn(job: number | null): number {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (job === null) return;
    let waiting: number | undefined;
    const stop = onEvents(['file.ingested', 'job.finished', 'connected'], (event) => {
      if (event.type !== 'connected' && event.data.job !== job) return;
      waiting ??= window.setTimeout(() => {
        waiting = undefined;
        setTurn((before) => before + 1);
      }, refreshMs);
    });
    return () => {
      stop();
      window.clearTimeout(waiting);
    };
  }, [job]);
  return turn;
}

function Crumbs({ links }: { links: { href?: string; name: string; icon?: 'collection' | 'upload' }[] }) {
  return (
    <nav aria-label="Where this is">
      <ol class="crumbs">
        {links.map((link, at) => (
          <li key={at}>
            {at > 0 && <Icon name="chevron" size={14} />}
            {link.icon && <Icon name={link.icon} size={16} />}
            {link.href ? <a href={link.href}>{link.name}</a> : <span aria-current="page">{link.name}</span>}
          </li>
        ))}
      </ol>
    </nav>
  );
}

// -- one file --

function Times({ file }: { file: FileDetails }) {
  const cost = [
    file.wall_ms !== null && `${work(file.wall_ms)}`,
    file.cpu_ms !== null && `${work(file.cpu_ms)} of processor time`,
    file.peak_kib !== null && `${bytes(file.peak_kib * 1024)} of memory`,
  ].filter(Boolean);
  return (
    <details class="more">
      <summary>How it was worked on</summary>
      <Facts
        of={[
          ['Step', file.step && `${stepName(file.step)} (${file.step})`],
          ['By', file.worker && `${file.worker}${file.step_version ? `, version ${file.step_version}` : ''}`],
          ['Cost', cost.join(', ')],
          ['Tries', file.attempts > 0 ? `${count(file.attempts)} failed before` : null],
          ['Interrupted', file.interruptions > 0 ? plural(file.interruptions, 'time') : null],
          ['Note', file.note],
          ['Came', when(file.created)],
          ['Stored', when(file.written)],
          ['Worked on', when(file.processed)],
          ['Done', when(file.ingested)],
          ['Options', file.options && Object.entries(file.options).map(([name, value]) => `${name}: ${String(value)}`).join(', ')],
          ['Number', String(file.file)],
        ]}
      />
    </details>
  );
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > valueChars ? `${text.slice(0, valueChars)}…` : text;
}

function Metadata({ of }: { of: Record<string, unknown> | null }) {
  const all = Object.entries(of ?? {}).map(([name, value]): [string, string] => [name, valueText(value)]);
  const known = all.filter(([, value]) => value !== '');
  if (known.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="metadata">
      <h2 id="metadata">What it says of itself</h2>
      <Facts of={known.slice(0, valuesShown)} />
      {known.length > valuesShown && <p class="quiet">and {plural(known.length - valuesShown, 'more value')}</p>}
    </section>
  );
}

function sentence(words: string): string {
  return words === '' ? '' : `${words[0].toUpperCase()}${words.slice(1)}.`;
}

async function retry(file: FileDetails): Promise<void> {
  try {
    const job = await post<Job>(api(['files', file.file, 'retry']));
    notify('It is tried again.');
    go(address('jobs', job.job));
  } catch (failure) {
    notifyProblem(failure);
  }
}

function Failure({ file }: { file: FileDetails }) {
  const kind = file.error_kind ?? '';
  const has = file.has_blob;
  return (
    <div class="outcome tone-error">
      <p><strong>{kindName(kind)}</strong></p>
      {file.message && file.message !== kind && <p class="message">{file.message}</p>}
      {file.superseded ? <p>It was tried again since.</p> : <p>{kindAdvice(kind)}</p>}
      {!has && !file.superseded && <p>It has no bytes of its own: try again what it is in.</p>}
      {may('edit') && has && !file.superseded && (
        <p>
          <button type="button" class={hopeless.includes(kind) ? '' : 'main'} onClick={() => retry(file)}>
            <Icon name="retry" /> Try again
          </button>
        </p>
      )}
    </div>
  );
}

function Outcome({ file, why }: { file: FileDetails; why: Explanation | null }) {
  const tone = file.class === 'empty' ? 'void' : file.class;
  return (
    <section class="panel" aria-labelledby="outcome">
      <h2 id="outcome">What became of it</h2>
      {file.class === 'error' ? (
        <Failure file={file} />
      ) : (
        <div class={`outcome tone-${tone}`}>
          {why && <p>{sentence(why.outcome)}</p>}
          {why?.waits_for && <p>{sentence(`it ${why.waits_for}`)}</p>}
        </div>
      )}
      <Times file={file} />
    </section>
  );
}

// What a person reads of this file: itself, or what it was converted to.
function useReadable(file: FileDetails): FileLine | null {
  const path = file.class === 'converted' ? api(['files', file.file, 'children'], { limit: 1 }) : null;
  const child = useResource<Page<FileLine>>(path);
  return file.class === 'document' ? file : child.data?.items[0] ?? null;
}

function Buttons({ file, up }: { file: FileDetails; up: string }) {
  const readable = useReadable(file);
  const original = file.original ?? file.file;
  return (
    <div class="buttons">
      {readable && (
        <a class="button main" href={address(readable.class === 'document' ? 'documents' : 'files', readable.file)}>
          <Icon name="document" /> Read
        </a>
      )}
      {(file.has_blob || original !== file.file) && (
        <a class="button" href={api(['files', original, 'blob'], { download: true })} download={baseName(file.filename)}>
          <Icon name="download" /> Download
        </a>
      )}
      <a class="button" href={up} aria-keyshortcuts="u">
        <Icon name="back" /> Up
      </a>
    </div>
  );
}

function About({ file }: { file: FileDetails }) {
  const type = file.detected_type ?? file.content_type;
  const claimed = file.detected_type !== null && file.content_type !== file.detected_type && file.content_type !== 'application/octet-stream';
  return (
    <section class="panel" aria-labelledby="about">
      <h2 id="about">What it is</h2>
      <div class="file-about">
        <Facts
          of={[
            ['Type', `${typeName(type)}${typeName(type) === type ? '' : ` (${type})`}`],
            ['Said to be', claimed ? file.content_type : null],
            ['Size', file.has_blob ? bytes(file.bytes) : null],
            ['Pages', file.pages],
            ['Page', file.page],
            ['State', file.class === 'in_progress' ? stateName[file.state] : null],
            ['In it', file.n_children > 0 && file.class !== 'converted' ? `${plural(file.n_children, 'file')}${file.n_ingested_children < file.n_children ? `, ${count(file.n_ingested_children)} done` : ''}` : null],
            ['Full name', visible(file.filename)],
          ]}
        />
        {file.thumbnail_type !== null && <img src={api(['files', file.file, 'thumbnail'])} alt="How its first page looks" />}
      </div>
    </section>
  );
}

function Children({ file, turn }: { file: FileDetails; turn: number }) {
  if (file.n_children === 0) return null;
  const title = file.class === 'converted' ? 'What it was made into' : `${plural(file.n_children, 'file')} in it`;
  return (
    <section aria-labelledby="children">
      <h2 id="children">{title}</h2>
      <FileRows path={['files', file.file, 'children']} within={file.filename} files={file.n_children} turn={turn} />
    </section>
  );
}

function FileBody({ file, why, turn }: { file: FileDetails; why: Explanation | null; turn: number }) {
  const parents: { file: number; filename: string }[] = file.parents ?? why?.parents ?? [];
  const collection = file.collection ?? why?.collection;
  const up = file.parent === null ? address('jobs', file.job, 'files') : address('files', file.parent);
  useUpKey(up);
  const name = visible(baseName(file.filename));
  return (
    <>
      <Crumbs
        links={[
          ...(collection ? [{ href: address('collections', collection), name: collection, icon: 'collection' as const }] : []),
          { href: address('jobs', file.job, 'files'), name: `Import ${file.job}`, icon: 'upload' },
          ...parents.map((parent) => ({ href: address('files', parent.file), name: visible(baseName(parent.filename)) })),
          { name },
        ]}
      />
      <div class="heading">
        <h1>
          <Icon name={iconOf(file.detected_type ?? file.content_type, file.class)} size={24} /> {name}
        </h1>
        <ClassBadge of={file.class} />
        <Buttons file={file} up={up} />
      </div>
      <div class="columns">
        <About file={file} />
        <div>
          <Outcome file={file} why={why} />
          <Metadata of={file.metadata} />
        </div>
      </div>
      <Children file={file} turn={turn} />
    </>
  );
}

function Gone({ what }: { what: string }) {
  return (
    <>
      <h1 class="hidden">Not here</h1>
      <Empty title={`This ${what} is not here`}>
        <p>It was deleted, or never was. <a href="/collections">See the collections</a>.</p>
      </Empty>
    </>
  );
}

function OneFile({ id }: { id: number }) {
  const [job, setJob] = useState<number | null>(null);
  const fresh = { on: ['file.ingested', 'job.finished'], when: (event: { data: Record<string, unknown> }) => event.data.job === job };
  const done = useResource<FileDetails>(api(['files', id]), fresh);
  const why = useResource<Explanation>(api(['files', id, 'explain']), fresh);
  const unfinished = done.data !== null && done.data.state !== 'ingested';
  // A file that is done does not change any more, whatever its job still does.
  useEffect(() => setJob(unfinished ? done.data!.job : null), [unfinished, done.data?.job]);
  const turn = useTurn(job);
  useTitle(done.data ? baseName(done.data.filename) : 'File');
  if (done.problem?.status === 404) return <Gone what="file" />;
  return <Await from={done}>{(file) => <FileBody file={file} why={why.data} turn={turn} />}</Await>;
}

// -- what a job brought --

function RootsOf({ job, turn }: { job: Job; turn: number }): ComponentChildren {
  useUpKey(address('jobs', job.job));
  return (
    <>
      <Crumbs
        links={[
          { href: address('collections', job.collection), name: job.collection, icon: 'collection' },
          { href: address('jobs', job.job), name: `Import ${job.job}`, icon: 'upload' },
          { name: 'Files' },
        ]}
      />
      <div class="heading">
        <h1>Files of: {jobTitle(job)}</h1>
        <JobBadge job={job} />
        <a class="button" href={address('jobs', job.job)} aria-keyshortcuts="u">
          <Icon name="back" /> Up
        </a>
      </div>
      <p class="quiet">
        {plural(job.roots, 'file')} came in, {bytes(job.bytes)}. Open one to see what was in it and what became of it.
      </p>
      {job.roots === 0 ? <Empty title="No file has come yet" /> : <FileRows path={['jobs', job.job, 'roots']} files={job.roots} turn={turn} />}
    </>
  );
}

function Roots({ id }: { id: number }) {
  const [running, setRunning] = useState(true);
  const job = useResource<Job>(api(['jobs', id]), { everyMs: running ? refreshMs : undefined, on: ['job.finished'] });
  useEffect(() => setRunning(job.data === null || job.data.state === 'running'), [job.data?.state]);
  const turn = useTurn(id);
  useTitle(job.data ? `Files of: ${jobTitle(job.data)}` : 'Files');
  if (job.problem?.status === 404) return <Gone what="import" />;
  return <Await from={job}>{(data) => <RootsOf job={data} turn={turn} />}</Await>;
}

export default function FilePage({ file, job }: { file?: number; job?: number }) {
  const id = file ?? job;
  if (id === undefined || !Number.isSafeInteger(id)) return <Gone what="file" />;
  return file === undefined ? <Roots id={id} /> : <OneFile id={id} />;
}
