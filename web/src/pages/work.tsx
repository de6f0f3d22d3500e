// The work engine: partitions and how far they are, what has failed, timers and limits.
import { useState } from 'preact/hooks';
import { api, get } from '../core/api';
import { count, plural, when } from '../core/format';
import { useLoaded, useResource, useTitle } from '../core/hooks';
import { address, usePlace, withQuery } from '../core/router';
import { may, onlyCollection } from '../core/session';
import type { Item, Page, Partition, Timer } from '../core/types';
import { Empty, Icon } from '../parts/icons';
import { LeavingButton } from '../parts/leaving_button';
import { requeueItem } from '../parts/items';
import { Await, Badge, Progress } from '../parts/state';
import { statusName, WorkWords } from '../parts/work_words';
import '../style/work.css';

const pageRows = 200;
const ownShown = 50;
const refreshMs = 3000;
const deadPartitions = 10;
const deadItems = 3;
const own = 'quern:';
const behindOwn = 'quern;'; // the first name that no partition of Quern's own can have

// -- partitions --

interface Loaded {
  theirs: Partition[];
  more: boolean;
}

// Quern's own may be many and are left out: the list goes on behind them.
async function loadPartitions(status: string, pages: number, signal: AbortSignal): Promise<Loaded> {
  const theirs: Partition[] = [];
  let after: string | undefined;
  while (true) {
    const page = await get<Page<Partition>>(api(['partitions'], { status, after, limit: pageRows }), signal);
    theirs.push(...page.items.filter((one) => !one.partition.startsWith(own)));
    if (page.next === undefined) return { theirs, more: false };
    after = String(page.next);
    if (after.startsWith(own)) after = behindOwn;
    if (theirs.length >= pages * pageRows) return { theirs, more: true };
  }
}

function PartitionRow({ of }: { of: Partition }) {
  return (
    <tr>
      <td>
        <a href={address('partitions', of.partition)}>{of.partition}</a>
      </td>
      <td><Badge tone={of.status}>{statusName[of.status]}</Badge></td>
      <td class="number wide-only">{count(of.gate)}</td>
      <td class="how-far">
        <Progress value={of.items === 0 ? 0 : of.complete / of.items} label={`Progress of ${of.partition}`} tone={of.failed > 0 ? 'bad' : undefined} />
        <span class="quiet">
          {count(of.complete)} of {plural(of.items, 'item')}
          {of.failed > 0 && <span class="bad">, {count(of.failed)} failed</span>}
        </span>
      </td>
      <td class="wide-only quiet">{of.owner ?? 'nobody'}</td>
    </tr>
  );
}

function PartitionTable({ of, label }: { of: Partition[]; label: string }) {
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label={`Table: ${label}`}>
      <table class="partitions">
        <thead>
          <tr>
            <th scope="col">Partition</th>
            <th scope="col">Status</th>
            <th scope="col" class="number wide-only">Gate</th>
            <th scope="col">How far</th>
            <th scope="col" class="wide-only">Worked on by</th>
          </tr>
        </thead>
        <tbody>{of.map((one) => <PartitionRow key={one.partition} of={one} />)}</tbody>
      </table>
    </div>
  );
}

const filters: [string, string][] = [['', 'All'], ['available', 'Open'], ['failed', 'Failed'], ['complete', 'Complete']];

function Filters({ chosen }: { chosen: string }) {
  return (
    <nav class="choices" aria-label="Which partitions">
      {filters.map(([status, name]) => (
        <a key={status} href={withQuery({ status: status || null })} aria-current={chosen === status ? 'true' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}

function Teaching() {
  return (
    <Empty title="No work was given yet">
      <p>
        Quern can hand your own work to a program of yours: each piece once, in order, again after a failure, over
        restarts. Make a partition, and give it an item:
      </p>
      <pre class="example">
        {`curl -X PUT ${window.location.origin}/api/v1/partitions/mail \\
  -d '{"handler":"http://127.0.0.1:9000/work"}'
curl -X PUT ${window.location.origin}/api/v1/partitions/mail/items/letter-1 \\
  -d '{"to":"you"}'`}
      </pre>
    </Empty>
  );
}

function Partitions({ status }: { status: string }) {
  const [pages, setPages] = useState(1);
  const name = `partitions ${status} ${pages}`;
  const list = useLoaded<Loaded>(name, (signal) => loadPartitions(status, pages, signal), { on: ['partition.changed'], everyMs: refreshMs });
  return (
    <Await from={list}>
      {({ theirs, more }) => (
        <>
          {theirs.length > 0 && (
            <div class="panel">
              <PartitionTable of={theirs} label="Partitions" />
            </div>
          )}
          {theirs.length === 0 && (status === '' ? <Teaching /> : <p class="quiet">None is {statusName[status]?.toLowerCase()}.</p>)}
          {more && (
            <button type="button" onClick={() => setPages(pages + 1)}>
              Show more
            </button>
          )}
          <DeadLetters of={theirs.filter((one) => one.failed > 0).slice(0, deadPartitions)} />
        </>
      )}
    </Await>
  );
}

function OwnPartitions() {
  const list = useResource<Page<Partition>>(api(['partitions'], { after: own, limit: ownShown }), { everyMs: refreshMs });
  const ours = (list.data?.items ?? []).filter((one) => one.partition.startsWith(own));
  if (ours.length === 0) return null;
  return (
    <details class="panel folded">
      <summary>Quern’s own work ({ours.length === ownShown ? `${ownShown} or more` : ours.length})</summary>
      <p class="quiet">Imports and message queues run on the same engine. They look after themselves.</p>
      <PartitionTable of={ours} label="Partitions of Quern's own" />
    </details>
  );
}

// -- what has failed for good --

function DeadItem({ item, reload }: { item: Item; reload: () => void }) {
  const last = item.error_messages.at(-1);
  const requeue = () => requeueItem(item, reload);
  return (
    <li>
      <div>
        <strong>{item.item}</strong> of <a href={address('partitions', item.partition)}>{item.partition}</a>
        {last && <span class="quiet said">{last.message}</span>}
      </div>
      {may('edit') && (
        <LeavingButton onClick={requeue} label={`Try again: ${item.item} of ${item.partition}`}>
          <Icon name="retry" size={16} /> Try again
        </LeavingButton>
      )}
    </li>
  );
}

async function loadDead(partitions: Partition[], signal: AbortSignal): Promise<Item[]> {
  const pages = await Promise.all(
    partitions.map((one) => get<Page<Item>>(api(['partitions', one.partition, 'items'], { status: 'failed', limit: deadItems }), signal)),
  );
  return pages.flatMap((page) => page.items);
}

function DeadLetters({ of }: { of: Partition[] }) {
  const name = of.map((one) => `${one.partition} ${one.failed}`).join('\n');
  const items = useLoaded<Item[]>(name === '' ? null : name, (signal) => loadDead(of, signal), { on: ['partition.changed'] });
  if (of.length === 0 || !items.data || items.data.length === 0) return null;
  const failed = of.reduce((sum, one) => sum + one.failed, 0);
  return (
    <section class="panel" aria-labelledby="dead">
      <h2 id="dead">{plural(failed, 'item')} failed for good</h2>
      <p class="quiet">They were tried as often as their partition allows. Mend the cause, then try them again.</p>
      <ul class="dead">{items.data.map((item) => <DeadItem key={`${item.partition}/${item.item}`} item={item} reload={items.reload} />)}</ul>
      {failed > items.data.length && <p class="quiet">The rest is on the pages of the partitions.</p>}
    </section>
  );
}

// -- timers and limits --

function Timers() {
  const timers = useResource<Page<Timer>>(api(['timers'], { limit: ownShown }), { everyMs: refreshMs });
  return (
    <section class="panel" aria-labelledby="timers">
      <h2 id="timers">Timers</h2>
      <p class="quiet">A message that is posted when its time has come.</p>
      {timers.data && timers.data.items.length === 0 && <p>None is set.</p>}
      {timers.data && timers.data.items.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">Timer</th>
              <th scope="col">Due</th>
              <th scope="col">Then</th>
            </tr>
          </thead>
          <tbody>
            {timers.data.items.map((timer) => (
              <tr key={timer.timer}>
                <td>{timer.timer}</td>
                <td>{when(timer.due)}</td>
                <td>{String(timer.callback_msg.type ?? 'a message')} to {timer.callback_queue}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

interface Limit {
  limit: string;
  concurrency: number;
  gap_ms: number;
}

function Limits() {
  const limits = useResource<Page<Limit>>(api(['limits'], { limit: ownShown }));
  return (
    <section class="panel" aria-labelledby="limits">
      <h2 id="limits">Limits</h2>
      <p class="quiet">How many items with the same key run at once, and how far apart they start.</p>
      {limits.data && limits.data.items.length === 0 && <p>None is set.</p>}
      {limits.data && limits.data.items.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col" class="number">At once</th>
              <th scope="col" class="number">Apart</th>
            </tr>
          </thead>
          <tbody>
            {limits.data.items.map((limit) => (
              <tr key={limit.limit}>
                <td>{limit.limit}</td>
                <td class="number">{limit.concurrency === 0 ? 'any' : count(limit.concurrency)}</td>
                <td class="number">{limit.gap_ms === 0 ? 'no' : `${count(limit.gap_ms)} ms`}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

export default function WorkPage() {
  useTitle('Work');
  const { query } = usePlace();
  const status = filters.some(([known]) => known === query.get('status')) ? query.get('status')! : '';
  if (onlyCollection() !== null) {
    return (
      <>
        <h1>Work</h1>
        <Empty title="Not part of your collection">
          <p>Your token is for one collection. Work is looked after by those who see all of them.</p>
        </Empty>
      </>
    );
  }
  return (
    <>
      <div class="heading">
        <h1>Work</h1>
        <Filters chosen={status} />
      </div>
      <Partitions key={status} status={status} />
      <WorkWords />
      <div class="columns">
        <Timers />
        <Limits />
      </div>
      <OwnPartitions />
    </>
  );
}
