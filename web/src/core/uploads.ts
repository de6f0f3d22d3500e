// Uploads: what a person drops becomes one import, whose files are sent by the tus protocol.
//
// Guarantee: what the server has said to have is never sent again and never lost. A file's place in
// the import is its place in the sorted list, so the same files dropped again (after the page was
// closed, say) go on where they stopped: the server knows each by its import and place. A server that
// goes away is waited for. How: docs/http-api.md, "Uploads".
import { useEffect, useState } from 'preact/hooks';
import { api, ask, get, noAnswer, post, Problem } from './api';
import { enrol, type Enrolment } from './curating';
import type { Picked } from './dropped';
import { isSentElsewhere, listenToTabs, tabsAnswered, tellTabs } from './tabs';
import type { Job } from './types';

const sendersMax = 3;
const smallBytes = 1024 * 1024; // such a file travels with its announcement
const chunkBytes = 256 * 1024 * 1024;
const retryDelaysMs = [0, 1000, 2000, ...Array<number>(120).fill(5000)]; // ten minutes, then a person decides
const rememberedMax = 20;
const storageKey = 'quern.uploads';

export interface UploadOptions extends Enrolment {
  collection: string;
  ocr: boolean;
  splitByPage: boolean;
  language: string;
}

// What is kept over a reload: enough to know the same files again.
export interface Remembered {
  key: string;
  job: number;
  name: string;
  files: number;
  bytes: number;
  fingerprint: string;
  options: UploadOptions;
}

export interface Batch extends Remembered {
  state: 'starting' | 'sending' | 'paused' | 'done';
  picked: Picked[];
  resumed: boolean;
  next: number; // of the files, the first that nobody has taken
  sending: Map<number, number>; // by index, bytes that are there
  arrived: Set<number>; // indexes of those that the server has whole
  filesDone: number;
  bytesDone: number;
  failed: { index: number; why: string }[];
  problem: string; // why it waits
  stop: AbortController;
  startedAt: number;
}

let batches: Batch[] = [];
const listeners = new Set<() => void>();
let telling = 0;

// Progress comes often; people see ten pictures a second.
function changed(): void {
  telling ||= window.setTimeout(() => {
    telling = 0;
    for (const listener of [...listeners]) listener();
  }, 100);
}

listenToTabs(() => batches.filter(({ state }) => state !== 'done').map(({ key }) => key), changed);

export function useUploads(): { batches: Batch[]; interrupted: Remembered[] } {
  const [, setTurn] = useState(0);
  useEffect(() => {
    const listener = () => setTurn((before) => before + 1);
    listeners.add(listener);
    listener(); // it may have changed since this was drawn
    return () => void listeners.delete(listener);
  }, []);
  const active = new Set(batches.map((batch) => batch.key));
  const isCutOff = ({ key }: Remembered) => !active.has(key) && !isSentElsewhere(key);
  return { batches, interrupted: tabsAnswered() ? remembered().filter(isCutOff) : [] };
}

// -- what is remembered --

function remembered(): Remembered[] {
  try {
    const all: unknown = JSON.parse(localStorage.getItem(storageKey) ?? '[]');
    return Array.isArray(all) ? (all as Remembered[]) : [];
  } catch {
    return [];
  }
}

function remember(one: Remembered): void {
  const { key, job, name, files, bytes, fingerprint, options } = one;
  const others = remembered().filter((other) => other.key !== key);
  const all = [{ key, job, name, files, bytes, fingerprint, options }, ...others].slice(0, rememberedMax);
  localStorage.setItem(storageKey, JSON.stringify(all));
}

export function forget(key: string): void {
  localStorage.setItem(storageKey, JSON.stringify(remembered().filter((one) => one.key !== key)));
  changed();
}

// Two sums of 32 bits over names, sizes and times: enough to know one's own files again.
function fingerprintOf(picked: Picked[]): string {
  let a = 0x811c9dc5;
  let b = 0x1000193;
  for (const { path, file } of picked) {
    const text = `${path}\u0000${file.size}\u0000${file.lastModified}\n`;
    for (let i = 0; i < text.length; ++i) {
      a = Math.imul(a ^ text.charCodeAt(i), 0x01000193) >>> 0;
      b = (Math.imul(b, 31) + text.charCodeAt(i)) >>> 0;
    }
  }
  return `${a.toString(16)}-${b.toString(16)}-${picked.length}`;
}

function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return 'browser-' + Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function nameOf(picked: Picked[]): string {
  const first = picked[0].path;
  if (picked.length === 1) return first;
  const top = first.split('/')[0];
  return picked.every(({ path }) => path.startsWith(`${top}/`)) ? top : `${first} and ${picked.length - 1} more`;
}

// -- one file --

const encoder = new TextEncoder();
function base64(text: string): string {
  return btoa(Array.from(encoder.encode(text), (byte) => String.fromCharCode(byte)).join(''));
}

function metadataOf(batch: Batch, index: number): string {
  const { options } = batch;
  const pairs: [string, string][] = [
    ['filename', batch.picked[index].path],
    ['collection', options.collection],
    ['job', String(batch.job)],
    ['index', String(index)],
  ];
  if (options.ocr) pairs.push(['ocr', 'true']);
  if (options.splitByPage) pairs.push(['split_by_page', 'true']);
  if (options.language !== '') pairs.push(['language', options.language]);
  return pairs.map(([name, value]) => `${name} ${base64(value)}`).join(',');
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = window.setTimeout(resolve, ms);
    stop.addEventListener('abort', () => {
      window.clearTimeout(timer);
      reject(new DOMException('stopped', 'AbortError'));
    });
  });
}

// Asks until there is an answer; a person may stop it.
async function insist<T>(batch: Batch, what: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; ++attempt) {
    try {
      const result = await what();
      batch.problem = '';
      return result;
    } catch (failure) {
      const passing = failure instanceof Problem && (failure.passing || failure.status === 423);
      if (!passing || attempt >= retryDelaysMs.length) throw failure;
      batch.problem = failure.detail;
      changed();
      await pause(Math.max(500, retryDelaysMs[attempt]), batch.stop.signal);
    }
  }
}

interface Announced {
  url: string;
  offset: number;
}

async function announce(batch: Batch, index: number, body: Blob | null): Promise<Announced> {
  const { file } = batch.picked[index];
  const headers: Record<string, string> = {
    'Tus-Resumable': '1.0.0',
    'Upload-Length': String(file.size),
    'Upload-Metadata': metadataOf(batch, index),
  };
  if (body) headers['Content-Type'] = 'application/offset+octet-stream';
  const answer = await ask(api(['uploads']), { method: 'POST', headers, body, signal: batch.stop.signal });
  return { url: answer.headers.get('Location') ?? '', offset: Number(answer.headers.get('Upload-Offset') ?? 0) };
}

// Its code comes with the first large file, which may be while the server is away.
function loadSender() {
  return import('tus-js-client').catch(() => {
    throw new Problem(0, 'unavailable', noAnswer);
  });
}

async function sendRest(batch: Batch, index: number, url: string): Promise<void> {
  const { Upload } = await insist(batch, loadSender);
  const { file } = batch.picked[index];
  await new Promise<void>((resolve, reject) => {
    const upload = new Upload(file, {
      uploadUrl: url,
      chunkSize: chunkBytes,
      retryDelays: retryDelaysMs,
      storeFingerprintForResuming: false,
      onProgress: (sent) => {
        batch.sending.set(index, sent);
        batch.problem = '';
        changed();
      },
      onShouldRetry: (failure) => {
        const status = failure.originalResponse?.getStatus() ?? 0;
        const again = status === 0 || status === 409 || status === 423 || (status >= 500 && status !== 507);
        if (again) batch.problem = 'The server does not answer. This goes on by itself as soon as it does.';
        changed();
        return again && !batch.stop.signal.aborted;
      },
      onError: (failure) => {
        const response = 'originalResponse' in failure ? failure.originalResponse : null;
        reject(new Problem(response?.getStatus() ?? 0, '', detailOf(response?.getBody()) ?? failure.message));
      },
      onSuccess: () => resolve(),
    });
    batch.stop.signal.addEventListener('abort', () => {
      void upload.abort();
      reject(new DOMException('stopped', 'AbortError'));
    });
    upload.start();
  });
}

function detailOf(body: string | undefined): string | null {
  try {
    return JSON.parse(body ?? '').detail ?? null;
  } catch {
    return null;
  }
}

async function sendOne(batch: Batch, index: number): Promise<void> {
  const { file } = batch.picked[index];
  const whole = file.size <= smallBytes && !batch.resumed;
  const { url, offset } = await insist(batch, () => announce(batch, index, whole && file.size > 0 ? file : null));
  if (offset < file.size) await sendRest(batch, index, url);
}

// -- the whole --

const isStop = (failure: unknown) => failure instanceof DOMException && failure.name === 'AbortError';

// A file that the server refuses is told at the end; anything else stops the batch until a person says so.
const isRefusal = (failure: unknown) =>
  failure instanceof Problem && [400, 404, 409, 410, 413].includes(failure.status);
class Ended extends Error {
  constructor() {
    super('The import was ended. What had not arrived was left out.');
  }
}
const isUnreadable = (failure: unknown) => failure instanceof DOMException && failure.name !== 'AbortError';

// An import that ended, canceled on its page perhaps, takes nothing any more: not one file is refused, but all.
async function checkTakes(batch: Batch): Promise<void> {
  const job = await get<Job>(api(['jobs', batch.job])).catch((failure: unknown) => {
    if (failure instanceof Problem && failure.status === 404) return null;
    throw failure;
  });
  if (job === null || job.canceling || job.state !== 'running') throw new Ended();
}

async function runSender(batch: Batch): Promise<void> {
  while (batch.state === 'sending' && batch.next < batch.picked.length) {
    const index = batch.next++;
    if (batch.arrived.has(index)) continue;
    const { file, path } = batch.picked[index];
    batch.sending.set(index, 0);
    changed();
    try {
      await sendOne(batch, index);
      batch.arrived.add(index);
      batch.filesDone += 1;
      batch.bytesDone += file.size;
    } catch (failure) {
      if (isStop(failure)) return;
      if (!isRefusal(failure) && !isUnreadable(failure)) {
        batch.next = Math.min(batch.next, index);
        throw failure;
      }
      if (isRefusal(failure)) await checkTakes(batch);
      batch.failed.push({ index, why: `${path}: ${(failure as Error).message}` });
    } finally {
      batch.sending.delete(index);
      changed();
    }
  }
}

async function run(batch: Batch): Promise<void> {
  batch.stop = new AbortController();
  batch.state = 'sending';
  try {
    const senders = Array.from({ length: sendersMax }, () => runSender(batch));
    const ends = await Promise.allSettled(senders);
    const broken = ends.find((end) => end.status === 'rejected');
    if (broken) throw (broken as PromiseRejectedResult).reason;
    if (batch.stop.signal.aborted) return;
    const refused = await insist(batch, () => enrol(batch.job, batch.options.collection, batch.options));
    await insist(batch, () => post(api(['jobs', batch.job, 'seal']), { skipped: batch.failed.length }));
    batch.failed.push(...refused.map((why) => ({ index: -1, why })));
    batch.state = 'done';
    forget(batch.key);
    tellTabs();
  } catch (failure) {
    if (isStop(failure)) return;
    batch.stop.abort();
    batch.problem = (failure as Error).message;
    if (failure instanceof Ended) {
      batch.state = 'done';
      forget(batch.key);
      tellTabs();
      return;
    }
    batch.state = 'paused';
    // Whatever was under way is asked about before it is sent again.
    batch.resumed = true;
    rewind(batch);
  } finally {
    changed();
  }
}

// Files that were taken and not finished are looked at again: the server knows what it has of them.
function rewind(batch: Batch): void {
  batch.next = 0;
  batch.failed = [];
  batch.sending.clear();
}

// Begins, or goes on with what was dropped before. The import's number.
export async function startUpload(files: Picked[], options: UploadOptions): Promise<number> {
  const picked = [...files].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  const fingerprint = fingerprintOf(picked);
  const isSame = ({ collection, as }: UploadOptions) => collection === options.collection && as === options.as;
  const known = remembered().find((one) => one.fingerprint === fingerprint && isSame(one.options));
  if (known && isSentElsewhere(known.key)) throw new Error(`${known.name} is being sent already, in another tab.`);
  const running = batches.find((batch) => batch.key === known?.key && batch.state !== 'done');
  if (running) {
    resumeUpload(running);
    return running.job;
  }
  const key = known?.key ?? randomKey();
  const name = nameOf(picked);
  const job = await post<Job>(api(['jobs']), { collection: options.collection, key, source: `browser: ${name}`.slice(0, 1000) });
  const batch: Batch = {
    key, job: job.job, name, fingerprint, picked,
    options: known?.options ?? options,
    files: picked.length,
    bytes: picked.reduce((sum, { file }) => sum + file.size, 0),
    state: 'starting', resumed: known !== undefined, next: 0, sending: new Map(), arrived: new Set(), filesDone: 0, bytesDone: 0,
    failed: [], problem: '', stop: new AbortController(), startedAt: Date.now(),
  };
  remember(batch);
  batches = [...batches.filter((other) => other.key !== key), batch];
  void run(batch);
  tellTabs();
  changed();
  return batch.job;
}

export function pauseUpload(batch: Batch): void {
  batch.stop.abort();
  batch.state = 'paused';
  batch.resumed = true;
  batch.problem = '';
  rewind(batch);
  changed();
}

export function resumeUpload(batch: Batch): void {
  if (batch.state === 'paused') void run(batch);
  changed();
}

export function closeBatch(batch: Batch): void {
  batches = batches.filter((other) => other !== batch);
  tellTabs();
  changed();
}

// Ends the import; what was made of it stays.
export async function cancelUpload(one: Remembered): Promise<void> {
  const batch = batches.find((other) => other.key === one.key);
  batch?.stop.abort();
  await post(api(['jobs', one.job, 'cancel']));
  if (batch) closeBatch(batch);
  forget(one.key);
}

export function sentBytes(batch: Batch): number {
  let sum = batch.bytesDone;
  for (const bytes of batch.sending.values()) sum += bytes;
  return sum;
}

export function isSending(): boolean {
  return batches.some((batch) => batch.state === 'sending' || batch.state === 'starting');
}

window.addEventListener('beforeunload', (event) => {
  if (isSending()) event.preventDefault();
});
