// A PDF, drawn by pdf.js, with the words that were searched for marked. Scripts in a PDF are never run, and
// its links lead nowhere outside: a document from a stranger must not call home.
import { useEffect, useRef, useState } from 'preact/hooks';
import { AnnotationMode, getDocument, GlobalWorkerOptions, type PDFDocumentLoadingTask, type PDFDocumentProxy } from 'pdfjs-dist';
import workerUrl from 'pdfjs-dist/build/pdf.worker.min.mjs?url';
import { EventBus, PDFFindController, PDFLinkService, PDFViewer } from 'pdfjs-dist/web/pdf_viewer.mjs';
import 'pdfjs-dist/web/pdf_viewer.css';
import { count } from '../core/format';
import { isUnspaced } from '../core/words';
import { Icon } from './icons';
import { isTyping } from './shortcuts';
import { Loading } from './state';

GlobalWorkerOptions.workerSrc = workerUrl;

const scaleStep = 1.2;
const imagePixelsMax = 50_000_000; // of one picture in it
const canvasPixelsMax = 16_777_216;
const fromTop = 0.6; // of the height of the view
const findPending = 3; // of pdf.js' FindState, which its viewer does not export

interface Viewer {
  bus: EventBus;
  view: PDFViewer;
}

export interface PdfViewProps {
  url: string;
  page: number;
  words: string[];
  title: string;
}

// pdf.js brings a hit to the top edge. Where the hit can be seen from the beginning of its page, people read from there.
class Finder extends PDFFindController {
  override scrollMatchIntoView(where: Parameters<PDFFindController['scrollMatchIntoView']>[0]): void {
    const element = where.element as HTMLElement | undefined;
    const box = element?.closest<HTMLElement>('.pdf-container');
    const before = box?.scrollTop;
    super.scrollMatchIntoView(where);
    const page = element?.closest<HTMLElement>('.page');
    if (!element || !box || !page || box.scrollTop === before) return;
    const down = element.getBoundingClientRect().bottom - page.getBoundingClientRect().top;
    if (down < box.clientHeight * fromTop) box.scrollTop = page.offsetTop;
  }
}

function makeViewer(container: HTMLDivElement): { viewer: Viewer; links: PDFLinkService } {
  const bus = new EventBus();
  const links = new PDFLinkService({ eventBus: bus });
  links.externalLinkEnabled = false;
  const finder = new Finder({ eventBus: bus, linkService: links });
  const view = new PDFViewer({
    container,
    eventBus: bus,
    linkService: links,
    findController: finder,
    annotationMode: AnnotationMode.ENABLE,
    maxCanvasPixels: canvasPixelsMax,
    removePageBorders: true,
  });
  links.setViewer(view);
  return { viewer: { bus, view }, links };
}

function load(url: string): PDFDocumentLoadingTask {
  return getDocument({
    url,
    isEvalSupported: false,
    enableXfa: false,
    maxImageSize: imagePixelsMax,
    cMapUrl: '/pdf/cmaps/',
    cMapPacked: true,
    standardFontDataUrl: '/pdf/standard_fonts/',
    disableAutoFetch: true, // only the pages that are looked at
  });
}

function find(viewer: Viewer, words: string[], type: '' | 'again', findPrevious = false): void {
  viewer.bus.dispatch('find', {
    source: null, type, query: words, caseSensitive: false, entireWord: !words.some(isUnspaced), highlightAll: true, findPrevious,
    matchDiacritics: false,
  });
}

export default function PdfView({ url, page, words, title }: PdfViewProps) {
  const container = useRef<HTMLDivElement>(null);
  const viewer = useRef<Viewer | null>(null);
  const [state, setState] = useState<'loading' | 'ready' | 'failed'>('loading');
  const [at, setAt] = useState(1);
  const [pages, setPages] = useState(0);
  const [matches, setMatches] = useState({ current: 0, total: 0 });
  const [looking, setLooking] = useState(false);

  useEffect(() => {
    const made = makeViewer(container.current!);
    viewer.current = made.viewer;
    const { bus, view } = made.viewer;
    const task = load(url);
    bus.on('pagesinit', () => {
      view.currentScaleValue = container.current!.clientWidth < 700 ? 'page-width' : 'auto';
      if (page > 1) view.currentPageNumber = Math.min(page, view.pagesCount);
      setState('ready');
    });
    bus.on('pagechanging', (event: { pageNumber: number }) => setAt(event.pageNumber));
    const onCount = (event: { matchesCount: { current: number; total: number } }) => setMatches(event.matchesCount);
    bus.on('updatefindmatchescount', onCount);
    bus.on('updatefindcontrolstate', (event: Parameters<typeof onCount>[0] & { state: number }) => {
      onCount(event);
      setLooking(event.state === findPending);
    });
    task.promise.then(
      (pdf) => {
        setPages(pdf.numPages);
        made.links.setDocument(pdf);
        view.setDocument(pdf);
        // The viewer is silent about a PDF without a first page.
        pdf.getPage(1).catch(() => setState('failed'));
      },
      () => setState('failed'),
    );
    return () => {
      viewer.current = null;
      // What is still being looked for would be marked in a page that nobody shows.
      view.setDocument(null as unknown as PDFDocumentProxy);
      view.cleanup();
      void task.destroy();
    };
  }, [url]);

  // Without words the marks go.
  const joined = words.join('\n');
  useEffect(() => {
    if (state !== 'ready' || !viewer.current) return;
    setLooking(joined !== '');
    find(viewer.current, joined === '' ? [] : joined.split('\n'), '');
  }, [state, joined]);

  const next = (findPrevious: boolean) => viewer.current && words.length > 0 && find(viewer.current, words, 'again', findPrevious);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isTyping(event) || event.metaKey || event.ctrlKey || event.altKey) return;
      if (event.key === 'n') next(false);
      if (event.key === 'p') next(true);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [joined]);

  const zoom = (factor: number) => {
    const view = viewer.current?.view;
    if (view) view.currentScale = Math.max(0.2, Math.min(6, view.currentScale * factor));
  };
  const goTo = (number: number) => {
    const view = viewer.current?.view;
    if (view && number >= 1 && number <= pages) view.currentPageNumber = number;
  };
  return (
    <section class="pdf" aria-label={`Pages of ${title}`}>
      <div class="pdf-tools row" role="toolbar" aria-label="View">
        <button type="button" class="plain turn" aria-label="Previous page" disabled={at <= 1} onClick={() => goTo(at - 1)}>
          <Icon name="back" />
        </button>
        <label>
          <span class="wide-word">Page</span>{' '}
          <input
            class="page-number" inputMode="numeric" value={String(at)} aria-label={`Page of ${pages}`}
            onChange={(event) => goTo(Number(event.currentTarget.value))}
          />{' '}
          of {count(pages)}
        </label>
        <button type="button" class="plain turn" aria-label="Next page" disabled={at >= pages} onClick={() => goTo(at + 1)}>
          <Icon name="chevron" />
        </button>
        <button type="button" class="plain" aria-label="Smaller" onClick={() => zoom(1 / scaleStep)}>
          <Icon name="minus" />
        </button>
        <button type="button" class="plain" aria-label="Larger" onClick={() => zoom(scaleStep)}>
          <Icon name="plus" />
        </button>
        <span class="spring" />
        {words.length > 0 && state === 'ready' && (
          <>
            <span class="quiet" role="status" data-test="matches">
              {matches.total > 0 ? `${matches.current} of ${count(matches.total)}` : looking ? 'looking…' : 'no marks'}
            </span>
            <button type="button" class="plain" aria-label="Previous hit" title="Previous hit (p)" onClick={() => next(true)}>
              <Icon name="back" />
            </button>
            <button type="button" class="plain" aria-label="Next hit" title="Next hit (n)" onClick={() => next(false)}>
              <Icon name="chevron" />
            </button>
          </>
        )}
      </div>
      {state === 'failed' && (
        <div class="problem" role="alert">
          <p>This PDF cannot be drawn here. Its text can be read, and the file downloaded.</p>
        </div>
      )}
      <div class="pdf-frame">
        {state === 'loading' && <Loading what="Opening the PDF" />}
        <div ref={container} class="pdf-container" tabIndex={0} aria-label={`PDF: ${title}`} role="document">
          <div class="pdfViewer" />
        </div>
      </div>
    </section>
  );
}
