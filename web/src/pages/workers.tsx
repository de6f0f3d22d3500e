// Who does the work: the steps, the workers that are connected, and who holds the search index.
import type { ComponentChildren } from 'preact';
import { api } from '../core/api';
import { ago, bytes, count, duration, percent, plural } from '../core/format';
import { useResource, useTitle } from '../core/hooks';
import { address } from '../core/router';
import { onlyCollection } from '../core/session';
import type { Pack, Page, Searcher, StepLine, WorkerLine } from '../core/types';
import { Empty } from '../parts/icons';
import { Await, Badge } from '../parts/state';
import { stepName, work } from '../parts/steps';
import '../style/work.css';

const refreshMs = 2000;
const silentSeconds = 20;
const tasksShown = 3;
const digestShown = 8;

function Table({ label, head, children }: { label: string; head: ComponentChildren; children: ComponentChildren }) {
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label={`Table: ${label}`}>
      <table class="partitions">
        <thead><tr>{head}</tr></thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

// -- steps --

function stepState(step: StepLine): ComponentChildren {
  if (step.running > 0) return <Badge tone="running">{count(step.running)} running</Badge>;
  if (step.waiting > 0 && step.workers === 0) return <Badge tone="failed">No worker</Badge>;
  return <span class="quiet">idle</span>;
}

function StepRow({ step }: { step: StepLine }) {
  return (
    <tr>
      <td>
        {stepName(step.step)} <span class="quiet">({step.step})</span>
      </td>
      <td>{stepState(step)}</td>
      <td class="number">{count(step.waiting)}</td>
      <td class="number">{count(step.workers)}</td>
      <td class="number wide-only">{count(step.finished)}</td>
      <td class={`number wide-only ${step.failed > 0 ? 'bad' : ''}`}>{count(step.failed)}</td>
      <td class="number wide-only">{step.finished + step.failed === 0 ? '' : work(step.busy_ms / (step.finished + step.failed))}</td>
    </tr>
  );
}

function Steps() {
  const steps = useResource<Page<StepLine>>(api(['steps']), { everyMs: refreshMs, on: ['worker.changed'] });
  const head = (
    <>
      <th scope="col">Step</th>
      <th scope="col">Now</th>
      <th scope="col" class="number">Waiting</th>
      <th scope="col" class="number">Workers</th>
      <th scope="col" class="number wide-only">Done</th>
      <th scope="col" class="number wide-only">Failed</th>
      <th scope="col" class="number wide-only">Each took</th>
    </>
  );
  return (
    <section class="panel" aria-labelledby="steps">
      <h2 id="steps">Steps</h2>
      <p class="quiet">Every file goes through the step for its type. Workers are started as they are needed. Counted since the server started.</p>
      <Await from={steps}>
        {({ items }) => <Table label="Steps" head={head}>{items.map((step) => <StepRow key={step.step} step={step} />)}</Table>}
      </Await>
    </section>
  );
}

// -- workers --

function workerState(worker: WorkerLine): ComponentChildren {
  if (worker.running > 0) return <Badge tone="running">Busy</Badge>;
  if (worker.seconds_since_seen > silentSeconds) return <Badge tone="warn">Silent for {duration(worker.seconds_since_seen)}</Badge>;
  return <Badge>Waiting</Badge>;
}

function WorkerRow({ worker }: { worker: WorkerLine }) {
  const { tasks } = worker;
  return (
    <tr>
      <td>
        {worker.worker}
        <span class="said narrow-only">{stepName(worker.step)}</span>
        {worker.version !== '' && <span class="said quiet">version {worker.version}</span>}
      </td>
      <td class="wide-only">{stepName(worker.step)}</td>
      <td>
        {workerState(worker)}
        {tasks.slice(0, tasksShown).map((task) => (
          <span key={task.file} class="said">
            <a href={address('files', task.file)}>{task.filename}</a>{' '}
            <span class="quiet">{duration(task.seconds)}{task.progress > 0 && `, ${percent(task.progress)}`}</span>
          </span>
        ))}
        {tasks.length > tasksShown && <span class="said quiet">and {count(tasks.length - tasksShown)} more</span>}
      </td>
      <td class="number wide-only">{count(worker.finished)}</td>
      <td class={`number wide-only ${worker.failed > 0 ? 'bad' : ''}`}>{count(worker.failed)}</td>
      <td class="number wide-only">{work(worker.busy_ms)}</td>
    </tr>
  );
}

function Workers() {
  const workers = useResource<Page<WorkerLine>>(api(['workers']), { everyMs: refreshMs, on: ['worker.changed'] });
  const head = (
    <>
      <th scope="col">Worker</th>
      <th scope="col" class="wide-only">Step</th>
      <th scope="col">Now</th>
      <th scope="col" class="number wide-only">Done</th>
      <th scope="col" class="number wide-only">Failed</th>
      <th scope="col" class="number wide-only">Has cost</th>
    </>
  );
  if (workers.problem?.status === 404) return null;
  return (
    <section class="panel" aria-labelledby="workers">
      <h2 id="workers">Connected workers</h2>
      <Await from={workers}>
        {({ items }) =>
          items.length === 0 ? (
            <p class="quiet">None at this moment. Quern starts them when there is something to do; others may connect from elsewhere.</p>
          ) : (
            <Table label="Connected workers" head={head}>
              {items.map((worker) => <WorkerRow key={`${worker.worker} ${worker.step}`} worker={worker} />)}
            </Table>
          )
        }
      </Await>
    </section>
  );
}

// -- the search index, and who holds it --

function holdersOf(pack: Pack, searchers: Searcher[]): string {
  const holders = searchers.filter((one) => pack.segments.some((segment) => one.held.includes(segment.digest)));
  return holders.length === 0 ? 'this server' : holders.map((one) => one.searcher).join(', ');
}

function PackRow({ pack, searchers }: { pack: Pack; searchers: Searcher[] }) {
  const masked = pack.segments.reduce((sum, segment) => sum + segment.masked, 0);
  return (
    <tr>
      <td>
        <a href={address('collections', pack.collection)}>{pack.collection}</a>
      </td>
      <td class="number">{count(pack.documents)}</td>
      <td class="number">{bytes(pack.bytes)}</td>
      <td class="number wide-only">{count(pack.segments.length)}{masked > 0 && `, ${count(masked)} gone`}</td>
      <td class="wide-only">{holdersOf(pack, searchers)}</td>
    </tr>
  );
}

function Packs({ searchers }: { searchers: Searcher[] }) {
  const packs = useResource<Page<Pack>>(api(['packs']), { on: ['pack.published'] });
  const head = (
    <>
      <th scope="col">Collection</th>
      <th scope="col" class="number">Documents</th>
      <th scope="col" class="number">Size</th>
      <th scope="col" class="number wide-only">Parts</th>
      <th scope="col" class="wide-only">Held by</th>
    </>
  );
  return (
    <section class="panel" aria-labelledby="packs">
      <h2 id="packs">Search index</h2>
      <p class="quiet">What can be found: each collection has a pack, made of parts that searchers load.</p>
      <Await from={packs}>
        {({ items }) =>
          items.length === 0 ? <p class="quiet">Nothing is packed yet.</p> : (
            <Table label="Packs" head={head}>
              {items.map((pack) => <PackRow key={pack.collection} pack={pack} searchers={searchers} />)}
            </Table>
          )
        }
      </Await>
    </section>
  );
}

function SearcherRow({ searcher }: { searcher: Searcher }) {
  return (
    <tr>
      <td>
        {searcher.searcher}
        {searcher.address !== null && <span class="said quiet">{searcher.address}</span>}
      </td>
      <td>{searcher.silent ? <Badge tone="failed">Silent</Badge> : <Badge tone="done">Here</Badge>}</td>
      <td title={searcher.held.map((digest) => digest.slice(0, digestShown)).join(' ')}>{plural(searcher.held.length, 'part')}</td>
      <td class="number wide-only">{bytes(searcher.free_space * 1_000_000)}</td>
      <td class="wide-only">{ago(searcher.seen)}</td>
    </tr>
  );
}

function Searchers({ searchers }: { searchers: Searcher[] }) {
  const head = (
    <>
      <th scope="col">Searcher</th>
      <th scope="col">Now</th>
      <th scope="col">Holds</th>
      <th scope="col" class="number wide-only">Free</th>
      <th scope="col" class="wide-only">Last heard of</th>
    </>
  );
  return (
    <section class="panel" aria-labelledby="searchers">
      <h2 id="searchers">Searchers elsewhere</h2>
      {searchers.length === 0 ? (
        <p class="quiet">None: this server answers every search itself, which is enough for most.</p>
      ) : (
        <Table label="Searchers" head={head}>{searchers.map((one) => <SearcherRow key={one.searcher} searcher={one} />)}</Table>
      )}
    </section>
  );
}

export default function WorkersPage() {
  useTitle('Workers');
  const limited = onlyCollection() !== null;
  const searchers = useResource<Page<Searcher>>(limited ? null : api(['searchers']), { everyMs: 5 * refreshMs });
  if (limited) {
    return (
      <>
        <h1>Workers</h1>
        <Empty title="Not part of your collection">
          <p>Your token is for one collection. Workers are looked after by those who see all of them.</p>
        </Empty>
      </>
    );
  }
  return (
    <>
      <h1>Workers</h1>
      <Workers />
      <Steps />
      <Packs searchers={searchers.data?.items ?? []} />
      <Searchers searchers={searchers.data?.items ?? []} />
    </>
  );
}
