// Crawls: sites that are brought in, and the form that begins one.
import { api } from '../core/api';
import { ago, percent } from '../core/format';
import { useResource, useTitle } from '../core/hooks';
import { address } from '../core/router';
import { may, onlyCollection } from '../core/session';
import type { Crawl, Ledger, Page } from '../core/types';
import { CrawlForm } from '../parts/crawl_form';
import { crawlName, periodName, sumsInWords } from '../parts/crawl_words';
import { Empty } from '../parts/icons';
import { JobBadge } from '../parts/job';
import { RowList, useNewest } from '../parts/row_list';
import { Progress } from '../parts/state';
import '../style/crawls.css';

// How far: of the addresses that are known by now. There may be more behind them.
const shareDone = ({ pages }: Crawl): number => (pages.admitted === 0 ? 0 : (pages.admitted - pages.open) / pages.admitted);

function Row({ crawl }: { crawl: Crawl }) {
  const title = crawlName(crawl);
  return (
    <li class="job-row">
      <div class="what">
        <a href={address('crawls', crawl.job)}>{title}</a>
        <span class="quiet">
          in <a href={address('collections', crawl.collection)}>{crawl.collection}</a>, {ago(crawl.created_us)}
          {crawl.period > 0 && `, ${periodName(crawl.period)}`}
        </span>
      </div>
      <div class="how">
        {crawl.state === 'running' && (
          <>
            <Progress value={shareDone(crawl)} label={`Pages of ${title} that are done`} />
            <span class="quiet">{percent(shareDone(crawl))} of what is known</span>
          </>
        )}
        <span>{sumsInWords(crawl)}</span>
      </div>
      <JobBadge job={crawl} />
    </li>
  );
}

function Teaching() {
  return (
    <Empty title="No site was crawled yet">
      <p>
        A crawl reads a site page by page, as a patient visitor would: it follows links, sitemaps and feeds, keeps what was
        answered in web archives (WARC), and makes every page and every file behind a link searchable.
      </p>
      <p>
        Each site says in its <code>robots.txt</code> what programs may read and how fast. Quern obeys it. What was left out,
        and why, is told for each address.
      </p>
      <p>
        The same from a command line: <code>quern crawl https://council.example --collection council --every 7d</code>
      </p>
    </Empty>
  );
}

function List() {
  const crawls = useNewest<Crawl>(['crawls'], { collection: onlyCollection() }, {
    on: ['job.progress', 'job.finished', 'page.captured'],
  });
  return (
    <RowList of={crawls} title="All crawls" name="crawls" empty={<Teaching />}>
      {(items) => items.map((crawl) => <Row key={crawl.job} crawl={crawl} />)}
    </RowList>
  );
}

export default function CrawlsPage() {
  useTitle('Crawls');
  const ledgers = useResource<Page<Ledger>>(onlyCollection() === null ? api(['collections'], { limit: 100 }) : null);
  return (
    <>
      <div class="heading">
        <h1>Crawls</h1>
      </div>
      {may('edit') && <CrawlForm collections={(ledgers.data?.items ?? []).map((one) => one.collection)} />}
      <List />
    </>
  );
}
