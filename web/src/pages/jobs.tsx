// All imports, the newest first.
import { api } from '../core/api';
import { ago, count, plural } from '../core/format';
import { useTitle } from '../core/hooks';
import { may, onlyCollection } from '../core/session';
import type { Job } from '../core/types';
import { Empty } from '../parts/icons';
import { JobRow } from '../parts/job';
import { useLeaving } from '../parts/leaving';
import { RowList, useNewest } from '../parts/row_list';

// Trying many files again makes a job for each: a row of those is one line, which can be opened.
const foldedFrom = 3;

function foldTries(jobs: Job[]): Job[][] {
  const runs: Job[][] = [];
  for (const job of jobs) {
    const last = runs.at(-1);
    const goesOn = job.kind === 'retry' && last?.[0].kind === 'retry' && last[0].collection === job.collection;
    if (goesOn) last.push(job);
    else runs.push([job]);
  }
  return runs.flatMap((run) => (run.length < foldedFrom ? run.map((job) => [job]) : [run]));
}

function Run({ jobs, withCollection }: { jobs: Job[]; withCollection: boolean }) {
  if (jobs.length === 1) return <JobRow job={jobs[0]} withCollection={withCollection} />;
  const running = jobs.filter((job) => job.state === 'running').length;
  const documents = jobs.reduce((sum, job) => sum + job.documents, 0);
  const failed = jobs.filter((job) => job.errors > 0).length;
  return (
    <li class="job-run">
      <details>
        <summary>
          <strong>{plural(jobs.length, 'file')} tried again</strong>
          <span class="quiet">
            {withCollection && `in ${jobs[0].collection}, `}
            {ago(jobs[0].created_us)}: {plural(documents, 'document')}, {count(failed)} failed again
            {running > 0 && `, ${count(running)} running`}
          </span>
        </summary>
        <ul class="job-rows">{jobs.map((job) => <JobRow key={job.job} job={job} withCollection={withCollection} />)}</ul>
      </details>
    </li>
  );
}

// The first page is kept fresh; older ones are asked for by a button and stay as they were.
export function JobList({ collection, children }: { collection: string | null; children?: preact.ComponentChildren }) {
  const jobs = useNewest<Job>(['jobs'], { collection }, {
    on: ['job.progress', 'job.finished'],
    when: (event) => collection === null || event.data.collection === collection,
  });
  const leaving = useLeaving();
  const rows = (items: Job[]) => {
    const shown = items.filter((job) => !leaving.has(api(['jobs', job.job])));
    if (shown.length === 0) return null;
    return foldTries(shown).map((run) => <Run key={run[0].job} jobs={run} withCollection={collection === null} />);
  };
  return (
    <RowList of={jobs} name="jobs" empty={children ?? <p class="quiet">Nothing was imported yet.</p>}>
      {rows}
    </RowList>
  );
}

export default function JobsPage() {
  useTitle('Imports');
  return (
    <>
      <div class="heading">
        <h1>Imports</h1>
        {may('edit') && <a class="button main" href="/">Add files</a>}
      </div>
      <JobList collection={onlyCollection()}>
        <Empty title="Nothing was imported yet">
          <p>
            An import is one batch of files that you bring in: a folder, an archive, a mailbox. Drop some on the{' '}
            <a href="/">home page</a>, or type <code>quern add FOLDER</code>. Here you then see how far each one is and what
            became of it.
          </p>
        </Empty>
      </JobList>
    </>
  );
}
