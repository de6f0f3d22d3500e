// Datasets: what was asked for, and the form that asks.
import { api } from '../core/api';
import type { Dataset } from '../core/dataset_types';
import { ago, bytes, percent, plural } from '../core/format';
import { useResource, useTitle } from '../core/hooks';
import { address } from '../core/router';
import { may, onlyCollection } from '../core/session';
import type { Ledger, Page } from '../core/types';
import { DatasetForm } from '../parts/dataset_form';
import { DatasetBadge, datasetName, platformName } from '../parts/dataset_words';
import { Empty } from '../parts/icons';
import { RowList, useNewest } from '../parts/row_list';
import { Progress } from '../parts/state';
import '../style/crawls.css';
import '../style/datasets.css';

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
  const datasets = useNewest<Dataset>(['filesets'], { collection: onlyCollection() }, { on: ['job.progress', 'job.finished'] });
  return (
    <RowList of={datasets} title="All datasets" name="datasets" empty={<Teaching />}>
      {(items) => items.map((dataset) => <Row key={dataset.job} dataset={dataset} />)}
    </RowList>
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
