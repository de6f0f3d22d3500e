// What is being sent, at the foot of every page.
import { bytes, count, duration } from '../core/format';
import { address } from '../core/router';
import { cancelUpload, closeBatch, pauseUpload, resumeUpload, sentBytes, useUploads, type Batch } from '../core/uploads';
import { confirm, notifyProblem } from './notice';
import { Progress } from './state';

async function stop(batch: Batch): Promise<void> {
  const yes = await confirm({
    title: `Stop sending ${batch.name}?`,
    text: 'What has arrived whole stays and is read. The rest is left out.',
    yes: 'Stop sending',
    danger: true,
  });
  if (yes) cancelUpload(batch).catch(notifyProblem);
}

function rateText(batch: Batch, sent: number): string {
  const seconds = (Date.now() - batch.startedAt) / 1000;
  if (seconds < 2 || sent === 0 || batch.resumed) return '';
  const rate = sent / seconds;
  return ` · ${bytes(rate)}/s · ${duration((batch.bytes - sent) / rate)} left`;
}

function BatchLine({ batch }: { batch: Batch }) {
  const sent = sentBytes(batch);
  const done = batch.state === 'done';
  const isWhole = done && batch.problem === '';
  const share = batch.bytes === 0 ? (done ? 1 : 0) : sent / batch.bytes;
  return (
    <li>
      <div class="row">
        <a href={address('jobs', batch.job)}>{batch.name}</a>
        <span class="quiet">
          {count(batch.filesDone)} of {count(batch.files)} files · {bytes(sent)} of {bytes(batch.bytes)}
          {batch.state === 'sending' && rateText(batch, sent)}
        </span>
        <span class="spring" />
        {batch.state === 'sending' && (
          <button type="button" class="plain" onClick={() => pauseUpload(batch)}>
            Pause
          </button>
        )}
        {batch.state === 'paused' && (
          <button type="button" class="main" onClick={() => resumeUpload(batch)}>
            Go on
          </button>
        )}
        {done ? (
          <button type="button" class="plain" onClick={() => closeBatch(batch)}>
            Close
          </button>
        ) : (
          <button type="button" class="plain" onClick={() => stop(batch)}>
            Stop
          </button>
        )}
      </div>
      <Progress value={isWhole ? 1 : Math.min(share, 0.999)} label={`Sending ${batch.name}`} tone={isWhole ? 'done' : undefined} />
      {done && batch.filesDone === batch.files && <p>All files have arrived.</p>}
      {batch.problem !== '' && <p class="bad" role="status">{batch.problem}</p>}
      {batch.failed.length > 0 && (
        <details>
          <summary class="bad">{count(batch.failed.length)} could not be sent</summary>
          <ul>{batch.failed.slice(0, 100).map((one) => <li key={one.why}>{one.why}</li>)}</ul>
        </details>
      )}
    </li>
  );
}

export function UploadBar() {
  const { batches } = useUploads();
  if (batches.length === 0) return null;
  return (
    <section class="uploads" aria-label="Uploads">
      <ul>{batches.map((batch) => <BatchLine key={batch.key} batch={batch} />)}</ul>
    </section>
  );
}
