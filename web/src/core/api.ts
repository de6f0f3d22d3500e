// Asking the server. Every failure is a Problem whose `detail` is a sentence for a person.

export class Problem extends Error {
  constructor(readonly status: number, readonly kind: string, readonly detail: string) {
    super(detail);
  }
  // The server did not answer, or said that it will soon: asking again makes sense.
  get passing(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

export const noAnswer = 'The server does not answer. Is it running? This page goes on by itself as soon as it does.';

type Unauthorized = () => void;
let whenUnauthorized: Unauthorized = () => {};
export function onUnauthorized(then: Unauthorized): void {
  whenUnauthorized = then;
}

async function problemOf(response: Response): Promise<Problem> {
  let kind = '';
  let detail = `${response.status} ${response.statusText}`;
  try {
    const body = await response.json();
    if (typeof body.detail === 'string' && body.detail !== '') detail = body.detail;
    if (typeof body.kind === 'string') kind = body.kind;
  } catch {
    // Not ours: a proxy in between, perhaps. The status must do.
  }
  return new Problem(response.status, kind, detail);
}

export async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { credentials: 'same-origin', ...init });
  } catch (failure) {
    if (failure instanceof DOMException && failure.name === 'AbortError') throw failure;
    throw new Problem(0, 'unavailable', noAnswer);
  }
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (problem.status === 401 && !path.startsWith('/api/v1/session')) whenUnauthorized();
  throw problem;
}

// A name may hold signs that turn the letters behind them around, so that `gnp.exe` looks like `exe.png`. They are made
// visible, in names only: nothing is addressed by those.
const turning = /[\u202a-\u202e\u2066-\u2069]/g;
const names = new Set(['filename', 'title', 'source', 'subject', 'author', 'creator', 'from', 'to']);

export function parse<T>(text: string): T {
  if (text.search(turning) < 0) return JSON.parse(text) as T;
  return JSON.parse(text, (key, value: unknown) =>
    typeof value === 'string' && names.has(key.toLowerCase()) ? value.replace(turning, '\ufffd') : value) as T;
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return parse<T>(await (await ask(path, { signal })).text());
}

export async function getText(path: string, signal?: AbortSignal): Promise<string> {
  return (await ask(path, { signal })).text();
}

async function send<T>(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<T> {
  const response = await ask(path, {
    method,
    keepalive: method === 'DELETE', // also when the page is being left
    headers: { ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  return (text === '' ? {} : JSON.parse(text)) as T;
}

export const post = <T>(path: string, body: unknown = {}, headers?: Record<string, string>) =>
  send<T>('POST', path, body, headers);
export const put = <T>(path: string, body: unknown, headers?: Record<string, string>) =>
  send<T>('PUT', path, body, headers);
export const patch = <T>(path: string, body: unknown) => send<T>('PATCH', path, body);
export const remove = <T>(path: string) => send<T>('DELETE', path);

// An address of /api/v1 with escaped segments and parameters; null, '' and false are left out.
export function api(
  segments: (string | number)[],
  query: Record<string, string | number | boolean | null | undefined> = {},
): string {
  const path = '/api/v1/' + segments.map((segment) => encodeURIComponent(String(segment))).join('/');
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === '' || value === false) continue;
    parameters.set(name, value === true ? '1' : String(value));
  }
  const text = parameters.toString();
  return text === '' ? path : `${path}?${text}`;
}
