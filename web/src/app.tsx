// The frame of every page: where one can go, what was said, and the page itself.
import { Suspense } from 'preact/compat';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useConnected } from './core/events';
import { useNarrow } from './core/hooks';
import { lazily } from './core/lazily';
import { go, here, usePlace, type Place } from './core/router';
import { may, signOut, useSession } from './core/session';
import { Boundary } from './parts/boundary';
import { showShortcuts, Shortcuts } from './parts/shortcuts';
import { Icon, type IconName } from './parts/icons';
import { Confirmer, Notices } from './parts/notice';
import { Loading } from './parts/state';
import { UploadBar } from './parts/upload_bar';
import { HomePage } from './pages/home';
import { LoginPage } from './pages/login';
import { SearchPage } from './pages/search';
import { MissingPage } from './pages/missing';

const CapturesPage = lazily(() => import('./pages/captures'));
const ClipPage = lazily(() => import('./pages/clip'));
const ClipsPage = lazily(() => import('./pages/clips'));
const CollectionPage = lazily(() => import('./pages/collection'));
const CollectionsPage = lazily(() => import('./pages/collections'));
const CrawlPage = lazily(() => import('./pages/crawl'));
const CrawlsPage = lazily(() => import('./pages/crawls'));
const DatasetPage = lazily(() => import('./pages/dataset'));
const DatasetsPage = lazily(() => import('./pages/datasets'));
const DocumentPage = lazily(() => import('./pages/document'));
const EpisodePage = lazily(() => import('./pages/episode'));
const EpisodesPage = lazily(() => import('./pages/episodes'));
const ErrorsPage = lazily(() => import('./pages/errors'));
const FilePage = lazily(() => import('./pages/file'));
const JobPage = lazily(() => import('./pages/job'));
const JobsPage = lazily(() => import('./pages/jobs'));
const PartitionPage = lazily(() => import('./pages/partition'));
const ResearchPage = lazily(() => import('./pages/research'));
const WorkPage = lazily(() => import('./pages/work'));
const WorkersPage = lazily(() => import('./pages/workers'));

// The groups of the navigation.
const navigation: { title: string; links: { href: string; name: string; icon: IconName; also?: string[] }[] }[] = [
  {
    title: 'Read',
    links: [
      { href: '/', name: 'Home', icon: 'home' },
      { href: '/search', name: 'Search', icon: 'search', also: ['documents'] },
      { href: '/collections', name: 'Collections', icon: 'collection', also: ['files'] },
    ],
  },
  {
    title: 'Collect',
    links: [
      { href: '/jobs', name: 'Imports', icon: 'upload' },
      { href: '/crawls', name: 'Crawls', icon: 'web', also: ['captures-of'] },
      { href: '/datasets', name: 'Datasets', icon: 'download' },
    ],
  },
  {
    title: 'Listen',
    links: [
      { href: '/episodes', name: 'Episodes', icon: 'audio' },
      { href: '/clips', name: 'Clips', icon: 'clip' },
      { href: '/research', name: 'Research', icon: 'listen' },
    ],
  },
  {
    title: 'Look after',
    links: [
      { href: '/errors', name: 'Errors', icon: 'error' },
      { href: '/work', name: 'Work', icon: 'work', also: ['partitions'] },
      { href: '/workers', name: 'Workers', icon: 'worker' },
    ],
  },
];

function page({ path, query }: Place) {
  const [first, second, third] = path;
  const id = Number(second);
  const isNumbered = first === 'documents' || first === 'files';
  if (path.length > 3 || (isNumbered && !Number.isSafeInteger(id))) return <MissingPage />;
  switch (first) {
    case undefined: return <HomePage />;
    case 'search': return path.length === 1 ? <SearchPage /> : <MissingPage />;
    case 'captures-of': return path.length === 1 ? <CapturesPage /> : <MissingPage />;
    case 'crawls':
      if (second === undefined) return <CrawlsPage />;
      return path.length === 2 ? <CrawlPage key={id} id={id} /> : <MissingPage />;
    case 'datasets':
      if (second === undefined) return <DatasetsPage />;
      return path.length === 2 ? <DatasetPage key={id} id={id} /> : <MissingPage />;
    case 'episodes':
      if (second === undefined) return <EpisodesPage />;
      return path.length === 2 ? <EpisodePage key={id} id={id} query={query} /> : <MissingPage />;
    case 'clips':
      if (second === undefined) return <ClipsPage />;
      return path.length === 2 ? <ClipPage key={id} id={id} /> : <MissingPage />;
    case 'research': return path.length === 1 ? <ResearchPage /> : <MissingPage />;
    case 'collections':
      return second === undefined ? <CollectionsPage /> : <CollectionPage name={second} />;
    case 'jobs':
      if (second === undefined) return <JobsPage />;
      return third === 'files' ? <FilePage key={`job${id}`} job={id} /> : <JobPage key={id} id={id} />;
    case 'documents': return second === undefined ? <MissingPage /> : <DocumentPage key={id} id={id} query={query} />;
    case 'files': return second === undefined ? <MissingPage /> : <FilePage key={id} file={id} />;
    case 'errors': return <ErrorsPage />;
    case 'work': return <WorkPage />;
    case 'partitions': return second === undefined ? <WorkPage /> : <PartitionPage key={second} name={second} />;
    case 'workers': return <WorkersPage />;
    default: return <MissingPage />;
  }
}

function Navigation({ place, open, close }: { place: Place; open: boolean; close: () => void }) {
  const current = place.path[0] ?? '';
  return (
    <nav class={`side ${open ? 'open' : ''}`} aria-label="Main" id="navigation" onClick={close}>
      {navigation.map((group) => (
        <div key={group.title} class="group">
          <h2>{group.title}</h2>
          <ul>
            {group.links.map((link) => {
              const isHere = link.href === `/${current}` || (link.also ?? []).includes(current);
              return (
                <li key={link.href}>
                  <a href={link.href} aria-current={isHere ? 'page' : undefined}>
                    <Icon name={link.icon} /> {link.name}
                  </a>
                </li>
              );
            })}
          </ul>
        </div>
      ))}
    </nav>
  );
}

const themes = ['auto', 'light', 'dark'] as const;
function ThemeButton() {
  const [theme, setTheme] = useState(() => localStorage.getItem('quern.theme') ?? 'auto');
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem('quern.theme', theme);
  }, [theme]);
  const next = themes[(themes.indexOf(theme as (typeof themes)[number]) + 1) % themes.length];
  return (
    <button type="button" class="plain" onClick={() => setTheme(next)} aria-label={`Colours: ${theme}. Change to ${next}.`} title={`Colours: ${theme}`}>
      <Icon name="theme" />
    </button>
  );
}

function Who() {
  const session = useSession();
  if (session?.by !== 'token') return null;
  return (
    <span class="who">
      <Icon name="key" size={16} /> {session.role}
      {session.collection !== null && ` of ${session.collection}`}
      <button type="button" class="plain" onClick={signOut}>
        Sign out
      </button>
    </span>
  );
}

function TopBar({ place, open, setOpen }: { place: Place; open: boolean; setOpen: (open: boolean) => void }) {
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    const q = String(new FormData(event.currentTarget as HTMLFormElement).get('q') ?? '');
    go(q === '' ? '/search' : `/search?q=${encodeURIComponent(q)}`);
  };
  const narrow = useNarrow();
  const hasBox = place.path.length === 0 || place.path[0] === 'search';
  return (
    <header class="top">
      <button type="button" class="plain menu" aria-expanded={open} aria-controls="navigation" aria-label="Menu" onClick={() => setOpen(!open)}>
        <Icon name="menu" size={22} />
      </button>
      <a class="brand" href="/">
        <img src="/quern.svg" alt="" width={28} height={28} /> Quern
      </a>
      {!hasBox && (
        <form class="quick" role="search" onSubmit={onSubmit}>
          <Icon name="search" />
          <input name="q" type="search" aria-label="Search everything" placeholder={narrow ? 'Search' : 'Search everything'} autocomplete="off" />
        </form>
      )}
      <span class="spring" />
      <Who />
      <button type="button" class="plain keys" onClick={showShortcuts} aria-label="Keys" aria-haspopup="dialog" title="Keys (?)">
        <Icon name="keyboard" />
      </button>
      <ThemeButton />
    </header>
  );
}

function Connection() {
  const connected = useConnected();
  if (connected) return null;
  return (
    <p class="offline" role="status">
      The server does not answer. Nothing is lost; this page goes on by itself as soon as it is back.
    </p>
  );
}

// A new page begins at its heading, for those who cannot see that it changed. Until the page has one (its code or what
// it shows may be on the way), the focus waits at the frame of the page.
function useFocusOnArrival(path: string): void {
  const first = useRef(true);
  useEffect(() => {
    if (first.current) {
      first.current = false;
      return;
    }
    const main = document.getElementById('main');
    if (!main || document.activeElement instanceof HTMLInputElement) return;
    const arrive = () => {
      const heading = main.querySelector('h1');
      heading?.setAttribute('tabindex', '-1');
      heading?.focus({ preventScroll: true });
      return heading !== null;
    };
    if (arrive()) return;
    main.focus({ preventScroll: true });
    const observer = new MutationObserver(() => {
      if (document.activeElement !== main || arrive()) observer.disconnect();
    });
    observer.observe(main, { childList: true, subtree: true });
    return () => observer.disconnect();
  }, [path]);
}

export function App() {
  const place = usePlace();
  const session = useSession();
  const [open, setOpen] = useState(false);
  useFocusOnArrival(place.path.join('/'));
  useEffect(() => setOpen(false), [place.href]);
  if (session === undefined) return <Loading what="Opening Quern" />;
  if (session === null) return <LoginPage />;
  if (place.path[0] === 'login') {
    go('/', 'replace');
    return null;
  }
  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={(event) => {
        event.preventDefault();
        document.getElementById('main')?.focus();
      }}>
        Skip to the page
      </a>
      <TopBar place={place} open={open} setOpen={setOpen} />
      <Navigation place={place} open={open} close={() => setOpen(false)} />
      <main id="main" tabIndex={-1}>
        <Connection />
        <Boundary key={place.path.join('/')}>
          <Suspense fallback={<Loading />}>{page(here())}</Suspense>
        </Boundary>
      </main>
      {may('edit') && <UploadBar />}
      <Notices />
      <Confirmer />
      <Shortcuts />
    </div>
  );
}
