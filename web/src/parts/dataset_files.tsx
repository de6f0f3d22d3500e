// The manifest of a dataset, with the state of each file.
import { api } from '../core/api';
import { bytes, isWebAddress, plural, typeName, visible } from '../core/format';
import type { Dataset, DatasetFile } from '../core/dataset_types';
import { capturesHref } from './crawl_words';
import { FileBadge } from './dataset_words';

function verified(file: DatasetFile): string {
  if (!file.kept) return '';
  const names = [file.md5 && 'MD5', file.sha1 && 'SHA-1', file.sha256 && 'SHA-256'].filter(Boolean);
  return names.join(', ');
}

// How far a file is that has not ended, as far as anybody knows.
function amountOf(file: DatasetFile): string {
  if (file.size !== undefined) return bytes(file.size);
  return file.bytes > 0 ? bytes(file.bytes) : '';
}

function Digests({ file }: { file: DatasetFile }) {
  const known: [string, string | undefined][] = [['MD5', file.md5], ['SHA-1', file.sha1], ['SHA-256', file.sha256]];
  const shown = known.filter(([, value]) => value);
  if (shown.length === 0) return null;
  return (
    <details class="digests">
      <summary>{file.kept ? `Verified: ${verified(file)}` : 'What the platform says'}</summary>
      <dl>
        {shown.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

function Links({ file, dataset }: { file: DatasetFile; dataset: Dataset }) {
  const { cdx } = file;
  const name = visible(file.path);
  return (
    <>
      {file.has_blob && (
        <a href={api(['filesets', dataset.job, 'files', file.number, 'blob'], { download: true })} aria-label={`Download: ${name}`} download>Download</a>
      )}
      {file.kept && cdx?.url && (
        <a href={capturesHref(cdx.url, dataset.collection, cdx.datetime)} aria-label={`Capture: ${name}`}>Capture</a>
      )}
      {isWebAddress(file.platform_url) && (
        <a href={file.platform_url} rel="noreferrer" aria-label={`Source: ${name}`}>Source</a>
      )}
    </>
  );
}

function Row({ file, dataset }: { file: DatasetFile; dataset: Dataset }) {
  return (
    <tr>
      <td>
        {file.number < 0 ? 'The bundle' : visible(file.path)}
        {file.message !== '' && <span class="said bad">{file.message}</span>}
        <Digests file={file} />
        <span class="links narrow-only"><Links file={file} dataset={dataset} /></span>
      </td>
      <td class="number">{amountOf(file)}</td>
      <td class="wide-only">{typeName(file.mimetype)}</td>
      <td><FileBadge file={file} running={dataset.state === 'running'} /></td>
      <td class="links wide-only"><Links file={file} dataset={dataset} /></td>
    </tr>
  );
}

export function Manifest({ dataset }: { dataset: Dataset }) {
  const files = dataset.files ?? [];
  if (files.length === 0) return null;
  const members = files.filter((file) => file.number >= 0);
  const done = members.filter((file) => file.kept).length;
  // A platform may not tell sizes before.
  const all = dataset.total_size || members.reduce((sum, file) => sum + (file.size ?? file.bytes), 0);
  return (
    <section class="panel" aria-labelledby="manifest">
      <h2 id="manifest">{plural(members.length, 'file')}</h2>
      <p class="quiet">{plural(done, 'file')} kept and verified, {bytes(all)} in all.</p>
      <div class="scroll-x" tabIndex={0} role="region" aria-label="Table: files">
        <table class="dataset-files">
          <thead>
            <tr>
              <th scope="col">File</th>
              <th scope="col" class="number">Size</th>
              <th scope="col" class="wide-only">Type</th>
              <th scope="col">State</th>
              <th scope="col" class="wide-only"><span class="hidden">Where it is</span></th>
            </tr>
          </thead>
          <tbody>{files.map((file) => <Row key={file.number} file={file} dataset={dataset} />)}</tbody>
        </table>
      </div>
    </section>
  );
}
