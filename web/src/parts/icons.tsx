// Icons: strokes on a 24 grid, in the colour of the text. Decoration only: words stand beside them.
import type { ComponentChildren } from 'preact';

const shapes = {
  home: 'M4 11 12 4l8 7v9h-5v-6H9v6H4z',
  search: 'M10.500 4a6.500 6.500 0 1 0 0 13 6.500 6.500 0 0 0 0-13zM15.500 15.500 20 20',
  collection: 'M4 6h6l2 2h8v11H4z',
  job: 'M12 4v4M12 16v4M4 12h4M16 12h4M6.500 6.500l2.500 2.500M15 15l2.500 2.500M17.500 6.500 15 9M9 15l-2.500 2.500',
  error: 'M12 4 21 20H3zM12 10v4M12 17v.01',
  work: 'M4 5h4v4H4zM16 5h4v4h-4zM10 15h4v4h-4zM6 9v3h12V9M12 12v3',
  worker: 'M9 4h6v4H9zM5 20v-5a3 3 0 0 1 3-3h8a3 3 0 0 1 3 3v5zM9 16h6',
  document: 'M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6',
  container: 'M4 8l8-4 8 4v8l-8 4-8-4zM4 8l8 4 8-4M12 12v8',
  image: 'M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15 9v.01',
  mail: 'M4 6h16v12H4zM4 7l8 6 8-6',
  audio: 'M9 18V6l10-2v12M9 18a2.500 2.500 0 1 1-2.500-2.500H9M19 16a2.500 2.500 0 1 1-2.500-2.500H19',
  clip: 'M3 12h2M7 9v6M11 5v14M15 8v8M19 10v4M21 12h.010',
  listen: 'M4 15v-3a8 8 0 0 1 16 0v3M4 15a2 2 0 0 1 4 0v3a2 2 0 0 1-4 0zM20 15a2 2 0 0 0-4 0v3a2 2 0 0 0 4 0z',
  play: 'M8 5v14l11-7z',
  web: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM4 12h16M12 4c3 2.500 4 5 4 8s-1 5.500-4 8c-3-2.500-4-5-4-8s1-5.500 4-8z',
  upload: 'M12 16V5M7 10l5-5 5 5M5 19h14',
  download: 'M12 5v11M7 11l5 5 5-5M5 19h14',
  chevron: 'M9 6l6 6-6 6',
  back: 'M15 6l-6 6 6 6',
  close: 'M6 6l12 12M18 6 6 18',
  menu: 'M4 7h16M4 12h16M4 17h16',
  check: 'M5 13l4 4L19 7',
  retry: 'M5 12a7 7 0 1 0 2-5M7 3v4h4',
  help: 'M9 9a3 3 0 1 1 4 3c-.700.400-1 .900-1 2M12 17v.01M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z',
  keyboard: 'M3 6h18v12H3zM7 10v.010M11 10v.010M15 10v.010M17 14v.010M7 14v.010M10 14h4',
  key: 'M8 12a4 4 0 1 0 0 .01M12 12h9M18 12v4',
  trash: 'M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13',
  clock: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 8v4l3 2',
  plus: 'M12 5v14M5 12h14',
  minus: 'M5 12h14',
  theme: 'M12 4a8 8 0 1 0 0 16zM12 4a8 8 0 0 1 0 16',
} as const;

export type IconName = keyof typeof shapes;

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true">
      <path d={shapes[name]} />
    </svg>
  );
}

export function iconOf(type: string | null | undefined, kind?: string): IconName {
  if (kind === 'error') return 'error';
  if (kind === 'container') return type?.includes('mail') || type === 'message/rfc822' ? 'mail' : 'container';
  if (!type) return 'document';
  if (type.startsWith('image/')) return 'image';
  if (type.startsWith('audio/') || type.startsWith('video/')) return 'audio';
  if (type === 'message/rfc822' || type === 'application/mbox') return 'mail';
  return 'document';
}

// A picture for an empty page: the millstone, and words below it.
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <img src="/quern.svg" alt="" width={56} height={56} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}
