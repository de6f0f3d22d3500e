// Numbers, sizes, times and kinds, in words for people.

const numbers = new Intl.NumberFormat();
export const count = (n: number): string => numbers.format(n);

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

export function bytes(n: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  let value = n;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    ++unit;
  }
  if (unit === 0) return plural(Math.round(n), 'byte');
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export function duration(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return '';
  if (seconds < 1) return 'less than a second';
  const whole = Math.round(seconds);
  if (whole < 60) return plural(whole, 'second');
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return plural(Math.round(whole / 86400), 'day');
}

// A place in a recording: 1:02:03.4.
export function clock(seconds: number, digits = 1): string {
  const step = 10 ** digits;
  const units = Math.max(0, Math.round(seconds * step));
  const whole = Math.floor(units / step);
  const hours = Math.floor(whole / 3600);
  const minutes = String(Math.floor(whole / 60) % 60).padStart(hours > 0 ? 2 : 1, '0');
  const rest = digits === 0 ? '' : `.${String(units % step).padStart(digits, '0')}`;
  return `${hours > 0 ? `${hours}:` : ''}${minutes}:${String(whole % 60).padStart(2, '0')}${rest}`;
}

export function percent(share: number): string {
  // 100 % only when it is so.
  const value = share >= 1 ? 100 : Math.min(99.9, Math.floor(share * 1000) / 10);
  return `${value >= 10 || value === 0 ? Math.floor(value) : value} %`;
}

export function when(time: string | number | null | undefined): string {
  if (time === null || time === undefined) return '';
  const date = new Date(typeof time === 'number' ? time / 1000 : time);
  return Number.isNaN(date.getTime())
    ? ''
    : date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
}

export function ago(time: string | number): string {
  const date = new Date(typeof time === 'number' ? time / 1000 : time);
  const seconds = (Date.now() - date.getTime()) / 1000;
  if (seconds < 60) return 'just now';
  if (seconds < 3600) return `${plural(Math.floor(seconds / 60), 'minute')} ago`;
  if (seconds < 86400) return `${plural(Math.floor(seconds / 3600), 'hour')} ago`;
  return when(time);
}

export const baseName = (filename: string): string => filename.slice(filename.lastIndexOf('/') + 1) || filename;
// Marks that turn the direction of writing let a name look like another: they are shown as what they are.
export const visible = (name: string): string => name.replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
// An address that a crawl may have brought; metadata can say anything.
export const isWebAddress = (url: unknown): url is string => typeof url === 'string' && /^https?:\/\//i.test(url);
export const folderName = (filename: string): string => filename.slice(0, Math.max(0, filename.lastIndexOf('/')));

const typeNames: Record<string, string> = {
  'application/pdf': 'PDF',
  'application/zip': 'Zip archive',
  'application/gzip': 'Gzip archive',
  'application/x-tar': 'Tar archive',
  'application/x-7z-compressed': '7z archive',
  'application/x-rar': 'RAR archive',
  'application/vnd.rar': 'RAR archive',
  'application/x-bzip2': 'Bzip2 archive',
  'application/x-xz': 'XZ archive',
  'application/x-compress': 'Compressed file',
  'application/x-cpio': 'Cpio archive',
  'application/mbox': 'Mailbox',
  'message/rfc822': 'Mail',
  'message/x-emlx': 'Mail',
  'application/vnd.ms-outlook': 'Outlook',
  'application/vnd.ms-tnef': 'Outlook attachments',
  'application/vnd.ms-visio.drawing': 'Visio',
  'application/onenote': 'OneNote',
  'application/vnd.apple.pages': 'Pages',
  'application/msword': 'Word (doc)',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'Word',
  'application/vnd.ms-excel': 'Excel (xls)',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'Excel',
  'application/vnd.ms-powerpoint': 'PowerPoint (ppt)',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'PowerPoint',
  'application/vnd.oasis.opendocument.text': 'OpenDocument text',
  'application/vnd.oasis.opendocument.spreadsheet': 'OpenDocument sheet',
  'application/vnd.oasis.opendocument.presentation': 'OpenDocument slides',
  'application/epub+zip': 'E-book',
  'application/rtf': 'Rich text',
  'text/rtf': 'Rich text',
  'text/html': 'Web page',
  'text/plain': 'Text',
  'text/csv': 'CSV table',
  'text/markdown': 'Markdown',
  'text/vcard': 'Contact card',
  'text/calendar': 'Calendar',
  'text/vtt': 'Subtitles',
  'application/x-subrip': 'Subtitles',
  'application/x-fictionbook+xml': 'E-book',
  'application/xhtml+xml': 'Web page',
  'application/xml': 'XML',
  'text/xml': 'XML',
  'application/json': 'JSON',
  'application/octet-stream': 'Unknown type',
};

export function typeName(type: string | null | undefined): string {
  if (!type) return '';
  const bare = type.split(';')[0].trim();
  if (typeNames[bare]) return typeNames[bare];
  const [major, minor] = bare.split('/');
  if (major === 'image') return `${minor.replace('svg+xml', 'svg').toUpperCase()} image`;
  if (major === 'audio') return `${minor.replace(/^x-/, '').toUpperCase()} audio`;
  if (major === 'video') return `${minor.replace(/^x-/, '').toUpperCase()} video`;
  return bare;
}

// Each kind of error: its name, and what a person can do.
export const errorKinds: Record<string, { name: string; advice: string }> = {
  unhandled: { name: 'Not a kind of file Quern reads', advice: 'The bytes are kept. Nothing else can be done with them here.' },
  canceled: { name: 'Canceled', advice: 'Try again to go on with these files.' },
  encrypted: { name: 'Locked with a password', advice: 'Open the file with its password elsewhere, save it without, and add that.' },
  corrupt: { name: 'Damaged', advice: 'Look for another copy of the file. Trying again will not help.' },
  unsupported: { name: 'No worker for this type', advice: 'Install or connect a worker for this step, then try again.' },
  too_large: { name: 'Over a size limit', advice: 'Raise the limit that the message names, then try again.' },
  too_deep: { name: 'Nested too deeply', advice: 'Raise the depth limit, then try again.' },
  too_many: { name: 'Too many files inside', advice: 'Raise the limit that the message names, then try again.' },
  ratio: { name: 'Expands suspiciously', advice: 'This looks like a zip bomb. If you trust it, raise the ratio limit and try again.' },
  timeout: { name: 'Took too long', advice: 'Try again when the machine is less busy, or raise the time limit.' },
  out_of_memory: { name: 'Needed too much memory', advice: 'Raise the memory limit of a converter, then try again.' },
  crash: { name: 'The converter crashed', advice: 'Try again; if it crashes each time, the file is damaged in a way we would like to know of.' },
  protocol: { name: 'A worker answered nonsense', advice: 'Look at the worker that the explanation names, then try again.' },
  fetch: { name: 'Could not be fetched', advice: 'Look at the address, then try again.' },
  internal: { name: 'A fault of ours', advice: 'Try again, and please tell us.' },
};

export const kindName = (kind: string): string => errorKinds[kind]?.name ?? kind;
export const kindAdvice = (kind: string): string => errorKinds[kind]?.advice ?? '';

export const className: Record<string, string> = {
  document: 'Document',
  container: 'Container',
  converted: 'Converted',
  empty: 'Empty',
  error: 'Error',
  in_progress: 'In progress',
};
