// Research: who listens, what waits, what could not be looked for.
import { api } from '../core/api';
import { count, plural } from '../core/format';
import { useResource, useTitle } from '../core/hooks';
import type { Finding, ResearchStatus } from '../core/research_types';
import { onlyCollection } from '../core/session';
import type { Page } from '../core/types';
import { Failures } from '../parts/failures';
import { Empty } from '../parts/icons';
import { Await, Badge } from '../parts/state';
import '../style/crawls.css';
import '../style/jobs.css';
import '../style/research.css';
import '../style/tones.css';
import '../style/work.css';

const refreshMs = 2000;
const failuresShown = 100;

function Teaching({ status }: { status: ResearchStatus }) {
  const lacking = status.episodes === 0 && status.clips === 0 ? 'episodes and clips' : status.episodes === 0 ? 'episodes' : 'clips';
  return (
    <Empty title="Nothing to listen to yet">
      <p>
        Research looks for every clip in every episode, and remembers what it has done: a new clip is looked for in the episodes
        that are there, a new episode is searched for the clips that are there, and nothing is done twice. There are no {lacking} that are ready.
      </p>
      <p>
        <a class="button main" href={status.episodes === 0 ? '/episodes' : '/clips'}>Add {status.episodes === 0 ? 'episodes' : 'clips'}</a>
      </p>
    </Empty>
  );
}

const isFetching = (status: ResearchStatus): boolean => (status.fetching ?? 0) > 0 && status.waiting === 0 && status.taken === 0;
const isStuck = (status: ResearchStatus): boolean => status.researchers === 0 && status.taken === 0;

// What stands still says why, and what to do.
function State({ status }: { status: ResearchStatus }) {
  if (status.idle) return <p>Every clip was looked for in every episode. What you add is looked for by itself.</p>;
  if (isFetching(status)) return <p>{plural(status.fetching ?? 0, 'recording is', 'recordings are')} being fetched.</p>;
  if (isStuck(status)) {
    return (
      <>
        <p>
          Work waits, and nobody listens. <code>quern serve</code> starts a researcher by itself, if it may (<code>--local-research</code>); on
          another machine one is started so:
        </p>
        <pre class="example" tabIndex={0} aria-label="Command">{`quern-steps --server ${window.location.origin} --research`}</pre>
      </>
    );
  }
  if (status.nothing_open) return <p>The last episodes are being listened to; nothing else is open.</p>;
  return <p>{plural(status.researchers, 'researcher listens', 'researchers listen')}. More work is made ready as they take it.</p>;
}

function StateBadge({ status }: { status: ResearchStatus }) {
  if (status.idle) return <Badge tone="done">Done</Badge>;
  if (isFetching(status)) return <Badge tone="running">Fetching</Badge>;
  return isStuck(status) ? <Badge tone="warn">Nobody listens</Badge> : <Badge tone="running">Listening</Badge>;
}

function Counts({ status }: { status: ResearchStatus }) {
  const all: [string, number, string][] = [
    ['researchers', status.researchers, 'source'],
    ['items that wait', status.waiting, 'in_progress'],
    ['items at work', status.taken, 'in_progress'],
    ['pairs researched', status.results, 'converted'],
    ['of them with findings', status.found, 'document'],
    ['could not be looked for', status.failed, status.failed > 0 ? 'error' : 'void'],
    ['reports refused for good', status.dead_letters, status.dead_letters > 0 ? 'error' : 'void'],
  ];
  return (
    <dl class="counts">
      {all.map(([name, value, tone]) => (
        <div key={name} class={`tone-${tone}`}>
          <dt>{name}</dt>
          <dd>{count(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function Failed({ status, reload }: { status: ResearchStatus; reload: () => void }) {
  const path = status.failed === 0 ? null : api(['findings'], { failed: 'true', limit: failuresShown, collection: onlyCollection() });
  const failed = useResource<Page<Finding>>(path, { everyMs: refreshMs });
  const again = () => {
    reload();
    failed.reload();
  };
  if (path === null) return null;
  return <Await from={failed}>{({ items, next }) => <Failures of={items} retry={{}} reload={again} more={next !== undefined} />}</Await>;
}

export default function ResearchPage() {
  useTitle('Research');
  const research = useResource<ResearchStatus>(api(['research']), { on: ['research.finding', 'job.finished'], everyMs: refreshMs });
  return (
    <Await from={research}>
      {(status) => (
        <>
          <div class="heading">
            <h1>Research</h1>
            <StateBadge status={status} />
          </div>
          {status.episodes === 0 || status.clips === 0 ? (
            <Teaching status={status} />
          ) : (
            <section class="panel" aria-labelledby="state">
              <h2 id="state">
                {plural(status.clips, 'clip')} in {plural(status.episodes, 'episode')}
              </h2>
              <State status={status} />
              <Counts status={status} />
              {(status.media_failed ?? 0) > 0 && (
                <p class="bad">
                  {plural(status.media_failed ?? 0, 'recording', 'recordings')} could not be had: <a href="/episodes">episodes</a> and{' '}
                  <a href="/clips">clips</a> say why.
                </p>
              )}
              {status.dead_letters > 0 && (
                <p class="quiet">A report is refused for good when it came several times and made no sense. Look at who sends it.</p>
              )}
            </section>
          )}
          <Failed status={status} reload={research.reload} />
        </>
      )}
    </Await>
  );
}
