// One job: how far it is while it runs, what became of it when it is done.
import { useEffect, useState } from 'preact/hooks';
import { api, post } from '../core/api';
import { onEvents } from '../core/events';
import { bytes, count, duration, kindName, percent, plural, when } from '../core/format';
import { useResource, useTitle } from '../core/hooks';
import { address, go } from '../core/router';
import { may } from '../core/session';
import type { ErrorLine, Job, JobProgress, JobWork, Page, StepWork, TaskLine } from '../core/types';
import { Empty, Icon } from '../parts/icons';
import { JobBadge, jobTitle, sourceOf } from '../parts/job';
import { deleteUnlessUndone, useLeaving } from '../parts/leaving';
import { LedgerPicture, sumsOfJob } from '../parts/ledger_picture';
import { confirm, notify, notifyProblem } from '../parts/notice';
import { Await, Progress } from '../parts/state';
import { stepName, work } from '../parts/steps';
import { Throughput } from '../parts/throughput';
import '../style/jobs.css';

const refreshMs = 2000;
const errorsShown = 8;
const tasksShown = 12;

// What the job's own events said last: fresher than the resource, which is asked every two seconds.
function useProgress(id: number): JobProgress | null {
  const [progress, setProgress] = useState<JobProgress | null>(null);
  useEffect(() => {
    setProgress(null);
    const listener = (event: { data: Record<string, unknown> }) => {
      if (event.data.job === id) setProgress(event.data as unknown as JobProgress);
    };
    return onEvents(['job.progress', 'job.finished'], listener);
  }, [id]);
  return progress;
}

// Events may be older than the answer and the answer older than events: counts only grow.
function freshest(job: Job, progress: JobProgress | null): Job {
  if (!progress || job.state !== 'running' || progress.files_done < job.files_done) return job;
  const { files, files_done, documents, errors } = progress;
  return { ...job, files: Math.max(files, job.files), files_done, documents, errors, progress: Math.max(progress.progress, job.progress) };
}

function useLiveErrors(id: number): ErrorLine[] {
  const [errors, setErrors] = useState<ErrorLine[]>([]);
  useEffect(() => {
    setErrors([]);
    return onEvents(['error.created'], ({ data }) => {
      if (data.job !== id) return;
      setErrors((before) => [data as unknown as ErrorLine, ...before].slice(0, errorsShown));
    });
  }, [id]);
  return errors;
}

const errorsHref = (job: Job) => `/errors?collection=${encodeURIComponent(job.collection)}&job=${job.job}`;
const filesHref = (job: Job) => address('jobs', job.job, 'files');
const searchHref = (job: Job) => `/search?collection=${encodeURIComponent(job.collection)}`;

async function cancel(job: Job, reload: () => void): Promise<void> {
  const agreed = await confirm({
    title: 'Cancel this import?',
    text: 'What has become a document stays and can be searched. The rest ends as canceled; it can be tried again later.',
    yes: 'Cancel the import',
    danger: true,
  });
  if (!agreed) return;
  try {
    await post(api(['jobs', job.job, 'cancel']));
    notify('The import is being canceled.');
    reload();
  } catch (failure) {
    notifyProblem(failure);
  }
}

function Actions({ job, reload }: { job: Job; reload: () => void }) {
  const running = job.state === 'running';
  const onDelete = () => {
    deleteUnlessUndone(api(['jobs', job.job]), `${jobTitle(job)} is deleted with everything it brought.`);
    go('/jobs');
  };
  return (
    <div class="buttons">
      {job.documents > 0 && (
        <a class={`button ${running ? '' : 'main'}`} href={searchHref(job)}>
          <Icon name="search" /> Search it
        </a>
      )}
      {job.kind === 'crawl' && (
        <a class="button" href={address('crawls', job.job)}>
          <Icon name="web" /> Sites and pages
        </a>
      )}
      {job.kind === 'dataset' && (
        <a class="button" href={address('datasets', job.job)}>
          <Icon name="download" /> Manifest and result
        </a>
      )}
      <a class="button" href={filesHref(job)}>
        <Icon name="container" /> Browse files
      </a>
      {may('edit') && running && (
        <button type="button" disabled={job.canceling} onClick={() => cancel(job, reload)}>
          <Icon name="close" /> {job.canceling ? 'Canceling…' : 'Cancel'}
        </button>
      )}
      {may('edit') && !running && (
        <button type="button" onClick={onDelete}>
          <Icon name="trash" /> Delete
        </button>
      )}
    </div>
  );
}

function Count({ name, value, tone, href }: { name: string; value: number; tone: string; href?: string }) {
  return (
    <div class={`tone-${tone}`}>
      <dt>{name}</dt>
      <dd>{href && value > 0 ? <a href={href}>{count(value)}</a> : count(value)}</dd>
    </div>
  );
}

function paceOf(job: Job, progress: JobProgress | null): string {
  if (job.canceling) return 'Stopping what still runs.';
  if (!job.sealed) return 'Files are still coming in.';
  const words: string[] = [];
  if (progress?.files_per_second) words.push(`${count(Math.round(progress.files_per_second * 10) / 10)} files per second`);
  if (typeof progress?.seconds_left === 'number') words.push(`about ${duration(progress.seconds_left)} left`);
  return words.length > 0 ? words.join(', ') : 'Working out how long it will take…';
}

function Running({ job, progress }: { job: Job; progress: JobProgress | null }) {
  return (
    <section class="panel" aria-label="Progress">
      <div class="job-state">
        <span class="percent" aria-hidden="true">{percent(job.progress)}</span>
        <div>
          <Progress value={job.progress} label="Progress of this import" />
          <p class="words">{paceOf(job, progress)}</p>
        </div>
      </div>
      <dl class="counts">
        <Count name={`files done, of ${count(job.files)} found`} value={job.files_done} tone="in_progress" />
        <Count name="documents" value={job.documents} tone="document" href={searchHref(job)} />
        <Count name="errors" value={job.errors} tone="error" href={errorsHref(job)} />
      </dl>
    </section>
  );
}

function Finished({ job }: { job: Job }) {
  const took = job.seconds === undefined ? '' : ` in ${duration(job.seconds)}`;
  return (
    <section class="panel" aria-labelledby="outcome">
      <h2 id="outcome">
        {job.state === 'canceled' ? 'Canceled' : 'Done'}{took}: {plural(job.documents, 'document')} from {plural(job.roots, 'file')}
      </h2>
      <LedgerPicture sums={sumsOfJob(job)} />
    </section>
  );
}

function StepBar({ step }: { step: StepWork }) {
  const all = Math.max(step.entered, step.ended + step.waiting + step.running);
  const words = [`${count(step.ended)} of ${count(all)}`];
  if (step.running > 0) words.push(`${count(step.running)} now`);
  if (step.failed > 0) words.push(`${count(step.failed)} failed`);
  if (step.wall_ms > 0) words.push(`${work(step.wall_ms)} of work`);
  return (
    <li>
      <div class="line">
        <span>{stepName(step.step)}</span>
        <span class="quiet">{words.join(' · ')}</span>
      </div>
      <Progress value={all === 0 ? 0 : step.ended / all} label={stepName(step.step)} tone={step.ended >= all ? 'done' : undefined} />
    </li>
  );
}

function Steps({ steps }: { steps: StepWork[] }) {
  if (steps.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="steps">
      <h2 id="steps">Step by step</h2>
      <ul class="step-bars">{steps.map((step) => <StepBar key={step.step} step={step} />)}</ul>
    </section>
  );
}

function Task({ task }: { task: TaskLine }) {
  return (
    <li>
      <a href={address('files', task.file)}>{task.filename}</a>
      <span class="quiet">
        {stepName(task.step)} for {duration(task.seconds)}
        {task.progress > 0 && `, ${percent(task.progress)}`}
      </span>
    </li>
  );
}

function Now({ tasks }: { tasks: TaskLine[] }) {
  return (
    <section class="panel" aria-labelledby="now">
      <h2 id="now">Being worked on right now</h2>
      {tasks.length === 0 && <p class="quiet">Nothing at this moment.</p>}
      <ul class="tasks">{tasks.slice(0, tasksShown).map((task) => <Task key={`${task.file} ${task.step}`} task={task} />)}</ul>
      {tasks.length > tasksShown && <p class="quiet">and {plural(tasks.length - tasksShown, 'more file')}</p>}
    </section>
  );
}

function Errors({ job }: { job: Job }) {
  const live = useLiveErrors(job.job);
  const path = job.errors > 0 ? api(['errors'], { collection: job.collection, job: job.job, limit: 200 }) : null;
  const listed = useResource<Page<ErrorLine>>(path);
  if (job.errors === 0) return null;
  const seen = new Set(live.map((line) => line.file));
  const lines = [...live, ...(listed.data?.items ?? []).filter((line) => !seen.has(line.file))].slice(0, errorsShown);
  return (
    <section class="panel" aria-labelledby="errors">
      <header>
        <h2 id="errors">{plural(job.errors, 'error')}</h2>
        <a href={errorsHref(job)}>All errors, and what to do</a>
      </header>
      <ul class="tasks">
        {lines.map((line) => (
          <li key={line.file}>
            <a href={address('files', line.file)}>{line.filename}</a>
            <span class="quiet">
              {kindName(line.kind)}
              {line.message !== line.kind && `: ${line.message}`}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function About({ job }: { job: Job }) {
  return (
    <p class="quiet">
      {job.kind === 'retry' ? 'Files that failed, tried again' : plural(job.roots, 'file')} ({bytes(job.bytes)}) for the collection{' '}
      <a href={address('collections', job.collection)}>{job.collection}</a>
      {job.source !== '' && <>, {sourceOf(job)}</>}. Begun {when(job.created_us)}
      {job.finished_us !== undefined && <>, ended {when(job.finished_us)}</>}.
    </p>
  );
}

function Pace({ job }: { job: Job }) {
  return (
    <section class="panel" aria-labelledby="pace">
      <h2 id="pace">Files per second</h2>
      <Throughput job={job.job} running />
    </section>
  );
}

function JobBody({ stored, progress, reload }: { stored: Job; progress: JobProgress | null; reload: () => void }) {
  const job = freshest(stored, progress);
  const running = job.state === 'running';
  const details = useResource<JobWork>(api(['jobs', job.job, 'work']), { everyMs: running ? refreshMs : undefined, on: ['job.finished'] });
  const hasWork = details.data !== null;
  return (
    <>
      <div class="heading">
        <h1>{jobTitle(job)}</h1>
        <JobBadge job={job} />
        <Actions job={job} reload={reload} />
      </div>
      <About job={job} />
      {running ? <Running job={job} progress={progress} /> : <Finished job={job} />}
      <div class="columns">
        {(running || hasWork) && (
          <div>
            {running && <Pace job={job} />}
            {hasWork && <Steps steps={details.data!.steps} />}
          </div>
        )}
        <div>
          {running && hasWork && <Now tasks={details.data!.tasks} />}
          <Errors job={job} />
        </div>
      </div>
      {running && job.files > 0 && (
        <section class="panel" aria-labelledby="so-far">
          <h2 id="so-far">What became of it so far</h2>
          <LedgerPicture sums={sumsOfJob(stored)} />
        </section>
      )}
    </>
  );
}

export default function JobPage({ id }: { id: number }) {
  const progress = useProgress(id);
  const [running, setRunning] = useState(true);
  const path = Number.isSafeInteger(id) ? api(['jobs', id]) : null;
  const job = useResource<Job>(path, {
    on: ['job.finished'],
    when: (event) => event.data.job === id,
    everyMs: running ? refreshMs : undefined,
  });
  const leaving = useLeaving();
  useEffect(() => setRunning(job.data?.state !== 'done' && job.data?.state !== 'canceled'), [job.data?.state]);
  useTitle(job.data ? jobTitle(job.data) : 'Import');
  const gone = path === null || job.problem?.status === 404 || leaving.has(path);
  if (gone) {
    return (
      <>
        <h1 class="hidden">Import</h1>
        <Empty title="This import is not here">
          <p>It was deleted, or never was. <a href="/jobs">See all imports</a>.</p>
        </Empty>
      </>
    );
  }
  return <Await from={job}>{(data) => <JobBody stored={data} progress={progress} reload={job.reload} />}</Await>;
}
