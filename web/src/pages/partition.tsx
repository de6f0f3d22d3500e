// One partition: its gates as stations, its items, who works on it, and what people can do.
import { useEffect, useState } from 'preact/hooks';
import { api, post } from '../core/api';
import { count, duration, plural, when } from '../core/format';
import { useResource, useTitle } from '../core/hooks';
import { may } from '../core/session';
import type { GateLine, Page, Partition } from '../core/types';
import { Happenings } from '../parts/happenings';
import { Empty, Icon } from '../parts/icons';
import { Items } from '../parts/items';
import { confirm, notify, notifyProblem } from '../parts/notice';
import { Await, Badge, Facts } from '../parts/state';
import { Stations } from '../parts/stations';
import { statusName, WorkWords } from '../parts/work_words';
import '../style/work.css';

const refreshMs = 1500;
const gatesShown = 200;
const own = 'quern:';

// The answer's clock and ours may differ: a lease that is over is not counted below zero.
function Countdown({ until }: { until: string }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), 1000);
    return () => window.clearInterval(timer);
  }, []);
  const left = (new Date(until).getTime() - now) / 1000;
  return <>{left > 0 ? `for another ${duration(Math.ceil(left))}, then renewed` : 'about to be renewed'}</>;
}

async function change(partition: Partition, what: string, said: string, reload: () => void): Promise<void> {
  try {
    await post(api(['partitions', partition.partition, what]), {}, { 'If-Match': String(partition.version) });
    notify(said);
  } catch (failure) {
    notifyProblem(failure);
  }
  reload();
}

async function requeueAll(partition: Partition, reload: () => void): Promise<void> {
  try {
    const { requeued } = await post<{ requeued: number }>(api(['partitions', partition.partition, 'requeue']));
    notify(`${plural(requeued, 'item is', 'items are')} back to work.`);
  } catch (failure) {
    notifyProblem(failure);
  }
  reload();
}

async function seal(partition: Partition, reload: () => void): Promise<void> {
  const agreed = await confirm({
    title: 'Take no more items?',
    text: 'A sealed partition refuses new items, for good. What it has is still worked on.',
    yes: 'Seal it',
  });
  if (agreed) await change(partition, 'seal', 'It takes no more items.', reload);
}

function Actions({ partition, reload }: { partition: Partition; reload: () => void }) {
  if (!may('edit') || partition.partition.startsWith(own)) return null;
  const isDone = partition.status === 'complete';
  const next = partition.gate + 1;
  return (
    <div class="buttons">
      {partition.failed > 0 && (
        <button type="button" class="main" onClick={() => requeueAll(partition, reload)}>
          <Icon name="retry" /> Try {plural(partition.failed, 'failed item')} again
        </button>
      )}
      {partition.manual_checkpoint && !isDone && (
        <button
          type="button"
          class={partition.failed > 0 ? '' : 'main'}
          onClick={() => change(partition, 'advance', `Gate ${count(next)} is open.`, reload)}
        >
          <Icon name="chevron" /> Open the next gate
        </button>
      )}
      {!partition.sealed && !isDone && (
        <button type="button" onClick={() => seal(partition, reload)}>
          <Icon name="key" /> Seal
        </button>
      )}
    </div>
  );
}

function About({ partition }: { partition: Partition }) {
  const retries = partition.max_retries < 0 ? 'again and again'
    : partition.max_retries === 1 ? 'once more' : `${count(partition.max_retries)} times more`;
  return (
    <section class="panel" aria-labelledby="about">
      <h2 id="about">How it works</h2>
      <Facts
        of={[
          ['Handler', partition.handler ?? (partition.partition.startsWith(own) ? 'Quern itself' : 'none yet')],
          ['Worked on by', partition.owner ?? 'nobody just now'],
          ['Lease', partition.until && <Countdown until={partition.until} />],
          ['After a failure', `an item is tried ${retries}`],
          ['At once', plural(partition.concurrency, 'item')],
          ['Next gate', partition.manual_checkpoint ? 'opens when somebody says so' : 'opens by itself'],
          ['New items', partition.sealed ? 'are refused: it is sealed' : 'can be put'],
          ['Made', when(partition.created)],
          ['Changed', when(partition.updated)],
        ]}
      />
    </section>
  );
}

function Gates({ partition }: { partition: Partition }) {
  const isDone = partition.status === 'complete';
  const gates = useResource<Page<GateLine>>(api(['partitions', partition.partition, 'gates'], { limit: gatesShown }), {
    on: ['partition.changed'],
    when: (event) => event.data.partition === partition.partition,
    everyMs: isDone ? undefined : refreshMs,
  });
  if (gates.problem?.status === 404) return null;
  return (
    <section class="panel" aria-labelledby="gates">
      <h2 id="gates">Gates</h2>
      <Await from={gates}>
        {({ items, next }) => (
          <>
            <Stations gates={items} current={partition.gate} isComplete={isDone} />
            {next !== undefined && <p class="quiet">Only the first {count(items.length)} gates are shown.</p>}
          </>
        )}
      </Await>
    </section>
  );
}

function PartitionBody({ partition, reload }: { partition: Partition; reload: () => void }) {
  const counts = `${partition.version} ${partition.gate} ${partition.complete} ${partition.failed} ${partition.status}`;
  return (
    <>
      <nav aria-label="Where this is">
        <ol class="crumbs">
          <li><a href="/work">Work</a></li>
          <li>
            <Icon name="chevron" size={14} /> <span aria-current="page">{partition.partition}</span>
          </li>
        </ol>
      </nav>
      <div class="heading">
        <h1>{partition.partition}</h1>
        <Badge tone={partition.status}>{statusName[partition.status]}</Badge>
        <Actions partition={partition} reload={reload} />
      </div>
      <p class="quiet">
        {count(partition.complete)} of {plural(partition.items, 'item')} done, {count(partition.available)} to do
        {partition.failed > 0 && `, ${count(partition.failed)} failed`}.
      </p>
      <Gates partition={partition} />
      <div class="columns">
        <About partition={partition} />
        <Happenings partition={partition.partition} version={counts} />
      </div>
      <Items partition={partition} />
      <WorkWords />
    </>
  );
}

export default function PartitionPage({ name }: { name: string }) {
  const [isDone, setDone] = useState(false);
  const partition = useResource<Partition>(api(['partitions', name]), {
    on: ['partition.changed'],
    when: (event) => event.data.partition === name,
    everyMs: isDone ? undefined : refreshMs,
  });
  useEffect(() => setDone(partition.data?.status === 'complete'), [partition.data?.status]);
  useTitle(name);
  if (partition.problem?.status === 404) {
    return (
      <>
        <h1 class="hidden">{name}</h1>
        <Empty title={`There is no partition “${name}”`}>
          <p>It was deleted, or its work is over and was cleared away. <a href="/work">See all work</a>.</p>
        </Empty>
      </>
    );
  }
  return <Await from={partition}>{(data) => <PartitionBody partition={data} reload={partition.reload} />}</Await>;
}
