// Home: search, add, see what there is and what is going on.
import { useState } from 'preact/hooks';
import { api } from '../core/api';
import { bytes, count, duration, percent, plural } from '../core/format';
import { useResource, useTitle } from '../core/hooks';
import { address, go } from '../core/router';
import { may, onlyCollection } from '../core/session';
import type { Job, Ledger, Page } from '../core/types';
import { cancelUpload, useUploads, type Remembered } from '../core/uploads';
import { DropZone } from '../parts/drop_zone';
import { Empty, Icon } from '../parts/icons';
import { JobBadge, jobTitle } from '../parts/job';
import { confirm, notifyProblem } from '../parts/notice';
import { SearchBox } from '../parts/search_box';
import { Await, Progress } from '../parts/state';

function HomeSearch() {
  const [q, setQ] = useState('');
  return (
    <SearchBox
      value={q}
      collection={onlyCollection() ?? ''}
      autofocus
      large
      onInput={setQ}
      onSubmit={() => go(`/search?q=${encodeURIComponent(q)}`)}
    />
  );
}

function Interrupted({ of }: { of: Remembered[] }) {
  if (of.length === 0) return null;
  const stop = async (one: Remembered) => {
    const yes = await confirm({
      title: `Give up the rest of ${one.name}?`,
      text: 'What has arrived whole stays and is read. The rest is left out.',
      yes: 'Give it up',
      danger: true,
    });
    if (yes) cancelUpload(one).catch(notifyProblem);
  };
  return (
    <section class="panel warn" aria-label="Uploads that were cut off">
      {of.map((one) => (
        <div key={one.key} class="row">
          <p>
            The upload of <a href={address('jobs', one.job)}>{one.name}</a> ({plural(one.files, 'file')}, {bytes(one.bytes)}) was cut
            off. <strong>Drop or choose the same files again</strong>, into {one.options.collection}: it goes on where it stopped.
          </p>
          <button type="button" onClick={() => stop(one)}>
            Give up the rest
          </button>
        </div>
      ))}
    </section>
  );
}

// Crawls and datasets have pages that tell more.
function hrefOf({ kind, job }: Job): string {
  return address(kind === 'crawl' ? 'crawls' : kind === 'dataset' ? 'datasets' : 'jobs', job);
}

function Running({ jobs }: { jobs: Job[] }) {
  const running = jobs.filter((job) => job.state === 'running');
  const shown = running.length > 0 ? running.slice(0, 8) : jobs.slice(0, 4);
  if (jobs.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="running">
      <header>
        <h2 id="running">{running.length > 0 ? 'Running now' : 'Last imports'}</h2>
        <a href="/jobs">All imports</a>
      </header>
      <ul class="job-lines">
        {shown.map((job) => (
          <li key={job.job}>
            <div class="row">
              <a href={hrefOf(job)}>{jobTitle(job)}</a>
              <span class="quiet">into {job.collection}</span>
              <span class="spring" />
              {job.state === 'running' ? <span>{percent(job.progress)}</span> : <JobBadge job={job} />}
            </div>
            {job.state === 'running' && <Progress value={job.progress} label={`Import ${job.job}`} />}
            <span class="quiet">
              {job.kind === 'dataset' && job.roots === 0 ? 'kept as files, not read' : plural(job.documents, 'document')}
              {job.errors > 0 && ` · ${plural(job.errors, 'error')}`}
              {job.seconds !== undefined && ` · ${duration(job.seconds)}`}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const cardsShown = 12;

function Collections({ of, more }: { of: Ledger[]; more: boolean }) {
  const behind = of.length - cardsShown;
  return (
    <section class="panel" aria-labelledby="collections-title">
      <header>
        <h2 id="collections-title">Collections</h2>
        <a href="/collections">{behind > 0 ? `All ${count(of.length)}${more ? ' and more' : ''}` : 'All about them'}</a>
      </header>
      {of.length === 0 ? (
        <p class="quiet">None yet. A collection is a pile of things that belong together; the first files make the first one.</p>
      ) : (
        <ul class="cards">
          {of.slice(0, cardsShown).map((one) => (
            <li key={one.collection}>
              <a class="card" href={address('collections', one.collection)}>
                <Icon name="collection" size={22} />
                <strong>{one.collection}</strong>
                <span>{plural(one.documents, 'document')}</span>
                <span class="quiet">
                  {bytes(one.bytes_in)}
                  {one.errors > 0 && ` · ${plural(one.errors, 'error')}`}
                  {one.in_progress > 0 && ` · ${count(one.in_progress)} in progress`}
                </span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

export function HomePage() {
  useTitle('');
  const only = onlyCollection();
  const path = only === null ? api(['collections'], { limit: 100 }) : api(['collections', only]);
  const collections = useResource<Page<Ledger> | Ledger>(path, { on: ['job.progress', 'job.finished'] });
  const jobs = useResource<Page<Job>>(api(['jobs'], { limit: 20, collection: only }), {
    on: ['job.progress', 'job.finished'],
  });
  const { interrupted } = useUploads();
  const ledgers = collections.data === null ? [] : 'items' in collections.data ? collections.data.items : [collections.data];
  const more = collections.data !== null && 'items' in collections.data && collections.data.next !== undefined;
  const nothing = collections.data !== null && ledgers.length === 0;
  return (
    <div class="home">
      <h1 class="hidden">Quern</h1>
      <HomeSearch />
      <Interrupted of={interrupted} />
      {nothing && (
        <Empty title="Welcome to Quern">
          <p>
            Give it what you have collected. It opens archives and mailboxes, turns everything into pages that you can read and
            search, and accounts for every single file.
          </p>
          {may('edit') && (
            <p>
              Drop files below, or bring in <a href="/crawls">a web site</a>, <a href="/datasets">a dataset</a> or <a href="/episodes">a podcast</a>.
            </p>
          )}
        </Empty>
      )}
      {may('edit') && <DropZone collections={ledgers.map((one) => one.collection)} />}
      <div class="columns">
        {!nothing && <Await from={collections}>{() => <Collections of={ledgers} more={more} />}</Await>}
        {jobs.data && <Running jobs={jobs.data.items} />}
      </div>
    </div>
  );
}
