// What several pages say of jobs.
import { ago, baseName, count, percent, plural } from '../core/format';
import { address } from '../core/router';
import type { Job } from '../core/types';
import { Badge, Progress } from './state';
import '../style/jobs.css';

// A name for people: where the files came from, as far as it is known.
const fromBrowser = /^browser: /;
export const sourceOf = (job: Job): string => (fromBrowser.test(job.source) ? 'sent by a browser' : `from ${job.source}`);

export function jobTitle(job: Job): string {
  const what = job.source.replace(fromBrowser, '').replace(/\/+$/, '');
  const name = what === '' ? `number ${job.job}` : baseName(what);
  if (job.kind === 'crawl') return `Crawl of ${name}`;
  if (job.kind === 'dataset') return `Dataset ${name}`;
  if (job.kind === 'episodes') return `Episodes of ${name}`;
  if (job.kind === 'clips') return `Clips of ${name}`;
  return job.kind === 'retry' ? `Another try: ${name}` : `Import of ${name}`;
}

export function JobBadge({ job }: { job: Pick<Job, 'state' | 'canceling' | 'sealed'> }) {
  if (job.canceling) return <Badge tone="canceled">Stopping</Badge>;
  if (job.state === 'done') return <Badge tone="done">Done</Badge>;
  if (job.state === 'canceled') return <Badge tone="canceled">Canceled</Badge>;
  return <Badge tone="running">Running</Badge>;
}

function outcomeOf(job: Job): string {
  if (job.kind === 'dataset' && job.roots === 0) return 'kept as files, not read';
  const parts = [plural(job.documents, 'document'), `from ${plural(job.roots, 'file')}`];
  return parts.join(' ');
}

export function JobRow({ job, withCollection }: { job: Job; withCollection: boolean }) {
  const running = job.state === 'running';
  return (
    <li class="job-row">
      <div class="what">
        <a href={address('jobs', job.job)}>{jobTitle(job)}</a>
        <span class="quiet">
          {withCollection && (
            <>
              in <a href={address('collections', job.collection)}>{job.collection}</a>,{' '}
            </>
          )}
          {ago(job.created_us)}
        </span>
      </div>
      <div class="how">
        {running ? (
          <>
            <Progress value={job.progress} label={`Progress of ${jobTitle(job)}`} />
            <span class="quiet">{percent(job.progress)} · {count(job.files_done)} of {plural(job.files, 'file')}</span>
          </>
        ) : (
          <span>{outcomeOf(job)}</span>
        )}
        {job.errors > 0 && (
          <a class="bad" href={`/errors?collection=${encodeURIComponent(job.collection)}&job=${job.job}`}>
            {plural(job.errors, 'error')}
          </a>
        )}
      </div>
      <JobBadge job={job} />
    </li>
  );
}
