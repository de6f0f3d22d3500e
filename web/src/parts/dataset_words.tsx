// What the pages of datasets say: statuses, strategies and platforms, for people.
import type { Dataset, DatasetFile } from '../core/dataset_types';
import { Badge } from './state';

interface Meaning {
  name: string;
  advice?: string;
}

const network = 'The network or the other side had a bad moment. Try again.';
const never = 'The same request will end in the same way.';

// Of requests and of files. docs/datasets.md has them all.
const meanings: Record<string, Meaning> = {
  success: { name: 'Kept' },
  'success-file': { name: 'Kept' },
  'success-existing': { name: 'Was kept before' },
  exists: { name: 'Was kept before' },
  'verified-local': { name: 'Verified' },
  'downloaded-local': { name: 'Downloaded' },
  'exists-local': { name: 'Downloaded' },
  canceled: { name: 'Canceled', advice: 'Try again to go on with it: what was kept stays.' },
  'no-capture': { name: 'Not captured', advice: 'The archive has no copy, and made none. Try again later.' },
  'no-platform-match': { name: 'No platform that is known', advice: `Give the address of one of its files, or of the page on its platform. ${never}` },
  'platform-scope': { name: 'Not a dataset as a whole', advice: 'The address is of one file, one version or a collection. Give the address of the dataset.' },
  'platform-restricted': { name: 'Restricted', advice: 'The platform gives it only to some. Ask who keeps it, or wait until an embargo has ended.' },
  'platform-404': { name: 'Not there', advice: 'The platform does not know it, or no longer. Look at the address.' },
  'platform-http-error': { name: 'The platform answers with an error', advice: network },
  'platform-error': { name: 'The platform could not be read', advice: network },
  'empty-manifest': { name: 'Has no files', advice: `The platform lists none, as for a record of metadata alone. ${never}` },
  'too-large-size': { name: 'Too large', advice: 'It is over the limit of bytes. Raise dataset-bytes-max, then ask for it again.' },
  'too-many-files': { name: 'Too many files', advice: 'It is over the limit of files. Raise dataset-files-max, or ask for its bundle.' },
  'skip-url-blocklist': { name: 'Not asked for', advice: 'Addresses like this one are left out by rule.' },
  'blocked-cookie': { name: 'Behind a wall of cookies', advice: 'Look for another address of the same dataset.' },
  'terminal-bad-status': { name: 'The page answers with an error', advice: 'Open the address in a browser; if it is there, try again.' },
  'redirect-loop': { name: 'Leads around in circles', advice: 'Look for another address of the same dataset.' },
  'redirects-exceeded': { name: 'Leads on and on', advice: 'Look for another address of the same dataset.' },
  'bad-redirect': { name: 'Leads to no address', advice: 'Look for another address of the same dataset.' },
  'invalid-host-resolution': { name: 'No such host', advice: 'Look at the address. If it is right, try again.' },
  'unsafe-path': { name: 'A name that leaves its folder', advice: never },
  'error-platform-download': { name: 'Could not be downloaded', advice: 'What came is kept, and a try goes on from there.' },
  'mismatch-size': { name: 'Of another size than was said', advice: 'The file has changed, or the manifest is wrong. Try again later.' },
  'mismatch-md5': { name: 'Of other bytes (MD5)', advice: 'The file has changed, or the manifest is wrong. Try again later.' },
  'mismatch-sha1': { name: 'Of other bytes (SHA-1)', advice: 'The file has changed, or the manifest is wrong. Try again later.' },
  'mismatch-sha256': { name: 'Of other bytes (SHA-256)', advice: 'The file has changed, or the manifest is wrong. Try again later.' },
  mismatch: { name: 'Of other bytes', advice: 'What was captured is not what the platform lists. Try again later.' },
  'error-archiveorg-upload': { name: 'Could not be uploaded', advice: 'What was downloaded is kept. Try again.' },
  'too-much-spn': { name: 'Too many files to capture elsewhere', advice: never },
  'not-implemented': { name: 'Not done here', advice: never },
  timeout: { name: 'Took too long', advice: 'Try again: it goes on where it ended.' },
};

export const statusName = (status: string): string => meanings[status]?.name ?? status;

export function statusAdvice({ status, retry }: Pick<Dataset, 'status' | 'retry'>): string {
  const advice = meanings[status]?.advice;
  if (advice || retry === 'hit' || status === '') return advice ?? '';
  if (retry === 'never') return never;
  return retry === 'passing' ? network : 'Try again in some weeks, or when what is wrong was mended.';
}

const strategies: Record<string, string> = {
  'web-file': 'one file, in the web archive',
  'web-fileset': 'file by file, in the web archive',
  'web-fileset-bundled': 'as one bundle, in the web archive',
  'archiveorg-file': 'one file, as an item of archive.org',
  'archiveorg-fileset': 'file by file, as an item of archive.org',
  'archiveorg-fileset-bundled': 'as one bundle, in an item of archive.org',
};
export const strategyName = (strategy: string): string => strategies[strategy] ?? strategy;

const platforms: Record<string, string> = {
  archiveorg: 'archive.org', ckan: 'CKAN', datacite: 'DataCite', dataverse: 'Dataverse', dryad: 'Dryad', figshare: 'figshare',
  github: 'GitHub', invenio: 'InvenioRDM', osf: 'OSF', single: 'one file', zenodo: 'Zenodo',
};
export const platformName = (name: string): string => platforms[name] ?? name;

const withoutScheme = (url: string): string => url.replace(/^https?:\/\//, '').replace(/^(dx\.)?doi\.org\//, '').replace(/\/$/, '');
export const datasetName = (dataset: Dataset): string => withoutScheme(dataset.request.base_url ?? '') || `number ${dataset.job}`;

export function DatasetBadge({ dataset }: { dataset: Dataset }) {
  if (dataset.state === 'running') return <Badge tone="running">Running</Badge>;
  if (dataset.state === 'canceled') return <Badge tone="canceled">Canceled</Badge>;
  return <Badge tone={dataset.hit ? 'done' : 'warn'}>{statusName(dataset.status)}</Badge>;
}

export function FileBadge({ file, running }: { file: DatasetFile; running: boolean }) {
  if (file.state === 'waiting') return <Badge tone={running ? 'running' : ''}>{file.status === '' ? 'Waiting' : statusName(file.status)}</Badge>;
  return <Badge tone={file.kept ? 'done' : 'warn'}>{statusName(file.status)}</Badge>;
}
