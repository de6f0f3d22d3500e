// Datasets: what was asked for, and the form that asks.
import { useState } from 'preact/hooks';
import { api, get } from '../core/api';
import type { Dataset } from '../core/dataset_types';
import { ago, bytes, percent, plural } from '../core/format';
import { useResource, useTitle } from '../core/hooks';
import { address } from '../core/router';
import { may, onlyCollection } from '../core/session';
import type { Ledger, Page } from '../core/types';
import { DatasetForm } from '../parts/dataset_form';
import { DatasetBadge, datasetName, platformName } from '../parts/dataset_words';
import { Empty } from '../parts/icons';
import { notifyProblem } from '../parts/notice';
import { Await, Progress } from '../parts/state';
import '../style/crawls.css';
import '../style/datasets.css';
import '../style/jobs.css';

const pageDatasets = 50;

function Row({ dataset }: { dataset: Dataset }) {
  const name = datasetName(dataset);
  return (
    <li class="job-row">
      <div class="what">
        <a href={address('datasets', dataset.job)}>{name}</a>
        <span class="quiet">
          in <a href={address('collections', dataset.collection)}>{dataset.collection}</a>, {ago(dataset.created_us)}
          {dataset.platform_name && `, ${platformName(dataset.platform_name)}`}
        </span>
      </div>
      <div class="how">
        {dataset.state === 'running' && (
          <>
            <Progress value={dataset.progress} label={`Progress of ${name}`} />
            <span class="quiet">{percent(dataset.progress)}</span>
          </>
        )}
        {dataset.file_count !== undefined && <span>{plural(dataset.file_count, 'file')}, {bytes(dataset.total_size ?? 0)}</span>}
      </div>
      <DatasetBadge dataset={dataset} />
    </li>
  );
}

function Teaching() {
  return (
    <Empty title="No dataset was asked for yet">
      <p>
        A dataset is fetched file by file from where it was published. Each file is compared with the sizes and digests that the
        platform tells, kept in the web archive, and can be handed on as a bag (BagIt) that any archive can verify.
      </p>
      <p>
        Whatever happens on the way, nothing that was verified is fetched twice: a file of many gigabytes goes on where it ended,
        after a crash and after days.
      </p>
      <p>
        The same from a command line: <code>quern dataset 10.5281/zenodo.1028059 --collection rescue</code>
      </p>
    </Empty>
  );
}

function List() {
  const collection = onlyCollection();
  const first = useResource<Page<Dataset>>(api(['filesets'], { collection, limit: pageDatasets }), {
    on: ['job.progress', 'job.finished'],
  });
  const [older, setOlder] = useState<{ datasets: Dataset[]; next?: string | number } | null>(null);
  const more = async (before: string | number) => {
    try {
      const page = await get<Page<Dataset>>(api(['filesets'], { collection, limit: pageDatasets, before }));
      setOlder((was) => ({ datasets: [...(was?.datasets ?? []), ...page.items], next: page.next }));
    } catch (failure) {
      notifyProblem(failure);
    }
  };
  return (
    <Await from={first}>
      {({ items, next }) => {
        const oldest = items.at(-1)?.job ?? 0;
        const datasets = [...items, ...(older?.datasets ?? []).filter((dataset) => dataset.job < oldest)];
        const rest = older ? older.next : next;
        if (datasets.length === 0) return <Teaching />;
        return (
          <section aria-labelledby="datasets">
            <h2 id="datasets">All datasets</h2>
            <ul class="job-rows">{datasets.map((dataset) => <Row key={dataset.job} dataset={dataset} />)}</ul>
            {rest !== undefined && <button type="button" onClick={() => more(rest)}>Show older ones</button>}
          </section>
        );
      }}
    </Await>
  );
}

export default function DatasetsPage() {
  useTitle('Datasets');
  const ledgers = useResource<Page<Ledger>>(onlyCollection() === null ? api(['collections'], { limit: 100 }) : null);
  return (
    <>
      <div class="heading">
        <h1>Datasets</h1>
      </div>
      {may('edit') && <DatasetForm collections={(ledgers.data?.items ?? []).map((one) => one.collection)} />}
      <List />
    </>
  );
}
