// One crawl: how far it is, its sites, its pages and why each is in or out.
import { useEffect, useState } from 'preact/hooks';
import { api, post } from '../core/api';
import { bytes, count, plural, when } from '../core/format';
import { useResource, useTitle } from '../core/hooks';
import { address, withQuery } from '../core/router';
import { may } from '../core/session';
import type { Crawl } from '../core/types';
import { Pages, Sites } from '../parts/crawl_lists';
import { crawlTitle, isFromArchive, periodName, scopeName } from '../parts/crawl_words';
import { ExplainUrl } from '../parts/explain_url';
import { Empty, Icon } from '../parts/icons';
import { JobBadge } from '../parts/job';
import { confirm, notify, notifyProblem } from '../parts/notice';
import { Await } from '../parts/state';
import '../style/crawls.css';
import '../style/tones.css';
import '../style/tree.css';
import '../style/work.css';

const refreshMs = 2000;

async function cancel(crawl: Crawl, reload: () => void): Promise<void> {
  const agreed = await confirm({
    title: 'Cancel this crawl?',
    text: 'What was fetched stays, in the collection and in the archive. The rest is not fetched; another crawl of the site goes on with it.',
    yes: 'Cancel the crawl',
    danger: true,
  });
  if (!agreed) return;
  try {
    await post(api(['jobs', crawl.job, 'cancel']));
    notify('The crawl is being canceled.');
    reload();
  } catch (failure) {
    notifyProblem(failure);
  }
}

function Actions({ crawl, reload }: { crawl: Crawl; reload: () => void }) {
  const running = crawl.state === 'running';
  return (
    <div class="buttons">
      {crawl.pages.in > 0 && (
        <a class={`button ${running ? '' : 'main'}`} href={`/search?collection=${encodeURIComponent(crawl.collection)}`}>
          <Icon name="search" /> Search it
        </a>
      )}
      <a class="button" href={address('jobs', crawl.job)}>
        <Icon name="container" /> Files and steps
      </a>
      {may('edit') && running && (
        <button type="button" disabled={crawl.canceling} onClick={() => cancel(crawl, reload)}>
          <Icon name="close" /> {crawl.canceling ? 'Canceling…' : 'Cancel'}
        </button>
      )}
    </div>
  );
}

function Into({ crawl }: { crawl: Crawl }) {
  return <>into the collection <a href={address('collections', crawl.collection)}>{crawl.collection}</a></>;
}

function When({ crawl }: { crawl: Crawl }) {
  return <>Begun {when(crawl.created_us)}{crawl.finished_us !== undefined && `, ended ${when(crawl.finished_us)}`}.</>;
}

function About({ crawl }: { crawl: Crawl }) {
  if (isFromArchive(crawl)) {
    return (
      <p class="quiet">
        From the archive {crawl.source}, asking nobody, <Into crawl={crawl} />. <When crawl={crawl} />
      </p>
    );
  }
  return (
    <p class="quiet">
      From {crawl.urls.slice(0, 3).join(', ')}
      {crawl.urls.length > 3 && ` and ${plural(crawl.urls.length - 3, 'more address', 'more addresses')}`}, {scopeName(crawl.scope)}, at
      most {plural(crawl.max_pages, 'page')}, <Into crawl={crawl} />, {periodName(crawl.period)}. <When crawl={crawl} />
    </p>
  );
}

function Count({ name, value, tone, state }: { name: string; value: number; tone: string; state?: string }) {
  const href = state === undefined ? null : withQuery({ state, why: null, site: null });
  return (
    <div class={`tone-${tone}`}>
      <dt>{name}</dt>
      <dd>{href && value > 0 ? <a href={href}>{count(value)}</a> : count(value)}</dd>
    </div>
  );
}

function Numbers({ crawl }: { crawl: Crawl }) {
  const { pages } = crawl;
  return (
    <section class="panel" aria-label="Numbers">
      <dl class="counts crawl-counts">
        <Count name="pages known" value={pages.admitted} tone="source" />
        <Count name="in" value={pages.in} tone="document" state="in" />
        <Count name="out, with a reason" value={pages.out} tone="void" state="out" />
        <Count name="of them failed" value={pages.failed} tone="error" />
        <Count name="open" value={pages.open} tone="in_progress" state="waiting" />
        {pages.unchanged > 0 && <Count name="unchanged since" value={pages.unchanged} tone="converted" />}
      </dl>
      {!isFromArchive(crawl) && (
        <p class="quiet">{bytes(crawl.fetched_bytes)} fetched; at least {crawl.delay} s between two requests to a site.</p>
      )}
    </section>
  );
}

function Body({ crawl, reload }: { crawl: Crawl; reload: () => void }) {
  return (
    <>
      <div class="heading">
        <h1>{crawlTitle(crawl)}</h1>
        <JobBadge job={crawl} />
        <Actions crawl={crawl} reload={reload} />
      </div>
      <About crawl={crawl} />
      <Numbers crawl={crawl} />
      <Sites crawl={crawl} />
      <ExplainUrl collection={crawl.collection} base={crawl.urls[0] ?? ''} />
      <Pages crawl={crawl} />
    </>
  );
}

export default function CrawlPage({ id }: { id: number }) {
  const [running, setRunning] = useState(true);
  const path = Number.isSafeInteger(id) ? api(['crawls', id]) : null;
  const crawl = useResource<Crawl>(path, {
    on: ['page.captured', 'job.progress', 'job.finished'],
    when: (event) => event.data.job === id,
    everyMs: running ? refreshMs : undefined,
  });
  useEffect(() => setRunning(crawl.data === null || crawl.data.state === 'running'), [crawl.data?.state]);
  useTitle(crawl.data ? crawlTitle(crawl.data) : 'Crawl');
  if (path === null || crawl.problem?.status === 404) {
    return (
      <>
        <h1 class="hidden">Crawl</h1>
        <Empty title="This crawl is not here">
          <p>It was deleted, or never was. <a href="/crawls">See all crawls</a>.</p>
        </Empty>
      </>
    );
  }
  return <Await from={crawl}>{(data) => <Body crawl={data} reload={crawl.reload} />}</Await>;
}
