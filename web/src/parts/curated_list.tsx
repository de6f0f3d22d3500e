// The page of episodes, and the page of clips: the form that adds some, and what there is.
import type { ComponentChildren } from 'preact';
import { api } from '../core/api';
import { count, isWebAddress, plural, visible, when } from '../core/format';
import { useResource, useTitle } from '../core/hooks';
import type { Curated, CuratedKind } from '../core/research_types';
import { address } from '../core/router';
import { may, onlyCollection } from '../core/session';
import type { Ledger, Page } from '../core/types';
import { CuratedForm } from './curated_form';
import { useLeaving } from './leaving';
import { useLonger } from './longer';
import { lengthOf, MediaBadge, titleOf, wordsOf } from './research_words';
import { RowList } from './row_list';
import '../style/crawls.css';
import '../style/research.css';

const rowsAtOnce = 100;
const refreshMs = 3000;

const hostOf = (url: string): string => (isWebAddress(url) ? new URL(url).host : '');

function Row({ kind, of }: { kind: CuratedKind; of: Curated }) {
  const from = hostOf(of.source) || hostOf(of.url);
  return (
    <li class="job-row">
      <div class="what">
        <a href={address(kind, of.id)}>{visible(titleOf(of))}</a>
        <span class="quiet">
          {of.date_aired !== '' && `aired ${when(of.date_aired)}, `}
          {from !== '' && `from ${from}, `}
          in <a href={address('collections', of.collection)}>{of.collection}</a>
        </span>
        {of.media === 'failed' && of.problem !== '' && <span class="said bad">{of.problem}</span>}
      </div>
      <div class="how">
        {lengthOf(of) !== '' && <span>{lengthOf(of)}</span>}
        {of.priority !== 0 && <span>priority {count(of.priority)}</span>}
        {of.found !== undefined && of.found > 0 && <span>{plural(of.found, 'clip')} in it</span>}
      </div>
      <MediaBadge of={of} />
    </li>
  );
}

export function CuratedListPage({ kind, empty, children }: { kind: CuratedKind; empty: ComponentChildren; children?: ComponentChildren }) {
  const words = wordsOf[kind];
  useTitle(words.All);
  const ledgers = useResource<Page<Ledger>>(onlyCollection() === null ? api(['collections'], { limit: 100 }) : null);
  const list = useLonger<Curated>([kind], { collection: onlyCollection() }, rowsAtOnce, {
    on: ['job.progress', 'job.finished', 'research.finding'],
    everyMs: refreshMs,
  });
  const leaving = useLeaving();
  const rows = (items: Curated[]) => {
    const shown = items.filter(({ id }) => !leaving.has(api([kind, id])));
    return shown.length === 0 ? null : shown.map((one) => <Row key={one.id} kind={kind} of={one} />);
  };
  return (
    <>
      <div class="heading">
        <h1>{words.All}</h1>
        <a class="button" href="/research">How far research is</a>
      </div>
      {may('edit') && <CuratedForm kind={kind} collections={(ledgers.data?.items ?? []).map((one) => one.collection)} added={list.reload} />}
      <RowList of={list} title={`All ${words.many}`} name="all" empty={empty} more="Show more">
        {rows}
      </RowList>
      {children}
    </>
  );
}
