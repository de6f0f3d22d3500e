// One dataset: how far it is, its files with the state of each, and the result.
import { useEffect, useState } from 'preact/hooks';
import { api, post } from '../core/api';
import { isWebAddress, percent, when } from '../core/format';
import { useResource, useTitle } from '../core/hooks';
import { address, go } from '../core/router';
import { may } from '../core/session';
import type { Dataset } from '../core/dataset_types';
import { Manifest } from '../parts/dataset_files';
import { DatasetBadge, datasetName, platformName, statusAdvice, statusName, strategyName } from '../parts/dataset_words';
import { Empty, Icon } from '../parts/icons';
import { confirm, notify, notifyProblem } from '../parts/notice';
import { Await, Facts, Progress } from '../parts/state';
import '../style/crawls.css';
import '../style/datasets.css';
import '../style/work.css';

const refreshMs = 2000;

async function cancel(dataset: Dataset, reload: () => void): Promise<void> {
  const agreed = await confirm({
    title: 'Cancel this dataset?',
    text: 'Files that were verified stay. The rest is not fetched; asking for the dataset again goes on with it.',
    yes: 'Cancel the dataset',
    danger: true,
  });
  if (!agreed) return;
  try {
    await post(api(['jobs', dataset.job, 'cancel']));
    notify('The dataset is being canceled.');
    reload();
  } catch (failure) {
    notifyProblem(failure);
  }
}

async function retry(dataset: Dataset): Promise<void> {
  try {
    const again = await post<Dataset>(api(['filesets', dataset.job, 'retry']));
    notify('What failed is tried again.');
    go(address('datasets', again.job));
  } catch (failure) {
    notifyProblem(failure);
  }
}

function Actions({ dataset, reload }: { dataset: Dataset; reload: () => void }) {
  const running = dataset.state === 'running';
  return (
    <div class="buttons">
      {dataset.options.ingest && (
        <a class="button" href={address('jobs', dataset.job)}>
          <Icon name="container" /> Files and steps
        </a>
      )}
      {may('edit') && running && (
        <button type="button" onClick={() => cancel(dataset, reload)}>
          <Icon name="close" /> Cancel
        </button>
      )}
      {may('edit') && !running && !dataset.hit && (
        <button type="button" class={dataset.retry === 'never' ? '' : 'main'} onClick={() => retry(dataset)}>
          <Icon name="retry" /> Try again
        </button>
      )}
    </div>
  );
}

function Outside({ url }: { url: string | undefined }) {
  if (!url) return null;
  return isWebAddress(url) ? <a href={url} rel="noreferrer">{url}</a> : <>{url}</>;
}

function About({ dataset }: { dataset: Dataset }) {
  const { platform_name, platform_id, platform_domain } = dataset;
  return (
    <section class="panel" aria-label="About">
      {dataset.state === 'running' && (
        <div class="dataset-progress">
          <Progress value={dataset.progress} label="Progress" />
          <p class="quiet" role="status">
            {dataset.phase === 'resolving' ? 'Finding out what there is to keep…' : `${percent(dataset.progress)} done`}
          </p>
        </div>
      )}
      {dataset.status !== '' && !dataset.hit && (
        <p class="outcome-line"><strong>{statusName(dataset.status)}.</strong> {statusAdvice(dataset)}</p>
      )}
      <Facts
        of={[
          ['asked for', <Outside url={dataset.request.base_url} />],
          ['led to', dataset.terminal_url && dataset.terminal_url !== dataset.request.base_url ? <Outside url={dataset.terminal_url} /> : ''],
          ['platform', platform_name ? `${platformName(platform_name)}${platform_domain ? `, ${platform_domain}` : ''}` : ''],
          ['called there', platform_id],
          ['kept', dataset.strategy === '' ? '' : strategyName(dataset.strategy)],
          ['item', dataset.in_ia ? dataset.archiveorg_item_name : ''],
          ['collection', <a href={address('collections', dataset.collection)}>{dataset.collection}</a>],
          ['begun', when(dataset.created_us)],
          ['ended', when(dataset.ended_us)],
          ['another try of', dataset.retry_of === undefined ? '' : <a href={address('datasets', dataset.retry_of)}>dataset {dataset.retry_of}</a>],
        ]}
      />
    </section>
  );
}

function ResultText({ dataset }: { dataset: Dataset }) {
  if (!dataset.result) return null;
  return (
    <details class="panel result">
      <summary>The result, for programs: <code>{dataset.status}</code></summary>
      <pre tabIndex={0} aria-label="Result">{JSON.stringify(dataset.result, null, 2)}</pre>
    </details>
  );
}

function Body({ dataset, reload }: { dataset: Dataset; reload: () => void }) {
  return (
    <>
      <div class="heading">
        <h1>{datasetName(dataset)}</h1>
        <DatasetBadge dataset={dataset} />
        <Actions dataset={dataset} reload={reload} />
      </div>
      <About dataset={dataset} />
      <Manifest dataset={dataset} />
      <ResultText dataset={dataset} />
    </>
  );
}

export default function DatasetPage({ id }: { id: number }) {
  const [running, setRunning] = useState(true);
  const path = Number.isSafeInteger(id) ? api(['filesets', id]) : null;
  const dataset = useResource<Dataset>(path, {
    on: ['job.progress', 'job.finished'],
    when: (event) => event.data.job === id,
    everyMs: running ? refreshMs : undefined,
  });
  useEffect(() => setRunning(dataset.data === null || dataset.data.state === 'running'), [dataset.data?.state]);
  useTitle(dataset.data ? datasetName(dataset.data) : 'Dataset');
  if (path === null || dataset.problem?.status === 404) {
    return (
      <>
        <h1 class="hidden">Dataset</h1>
        <Empty title="This dataset is not here">
          <p>It was deleted, or never was. <a href="/datasets">See all datasets</a>.</p>
        </Empty>
      </>
    );
  }
  return <Await from={dataset}>{(data) => <Body dataset={data} reload={dataset.reload} />}</Await>;
}
