// One clip: how it sounds, and all places in all episodes where it was played, to be heard there.
import { useEffect, useState } from 'preact/hooks';
import { api } from '../core/api';
import { clock, plural, visible } from '../core/format';
import { useResource, useTitle } from '../core/hooks';
import type { Curated, CuratedDetails, Finding } from '../core/research_types';
import { address } from '../core/router';
import { CuratedAbout, CuratedHeading } from '../parts/curated_about';
import { Failures } from '../parts/failures';
import { useFailed, useFound } from '../parts/found';
import { Empty } from '../parts/icons';
import { PlayButton, soundOf, Sound, usePlayer } from '../parts/player';
import { likeness, seconds, titleOf } from '../parts/research_words';
import { ShowMore } from '../parts/row_list';
import { Await } from '../parts/state';
import '../style/crawls.css';
import '../style/research.css';

const refreshMs = 4000;

interface Heard {
  src: string;
  title: string;
  at: number;
}

// The place that was chosen last.
function useHeard() {
  const [heard, setHeard] = useState<Heard | null>(null);
  const player = usePlayer(heard?.src ?? null);
  useEffect(() => {
    if (heard) player.playAt(heard.at);
  }, [heard]);
  const play = (finding: Finding, at: number) =>
    setHeard({ src: soundOf({ id: finding.episode }), title: visible(finding.episode_title), at });
  return { heard, player, play };
}

function Occurrence({ finding, play }: { finding: Finding; play: (finding: Finding, at: number) => void }) {
  const title = visible(finding.episode_title);
  return (
    <li class="finding">
      <div>
        <strong>{title}</strong>
        <ul class="offsets">
          {finding.offsets.map(({ offset_ns, score }) => {
            const at = seconds(offset_ns);
            return (
              <li key={offset_ns}>
                <PlayButton label={`Play ${title} at ${clock(at, 3)}`} onClick={() => play(finding, at)}>{clock(at, 3)}</PlayButton>
                <span class="quiet">{likeness(score)}</span>
                <a href={`${address('episodes', finding.episode)}?at=${at}`} aria-label={`Show it there: ${title}, at ${clock(at, 3)}`}>Show it there</a>
              </li>
            );
          })}
        </ul>
      </div>
    </li>
  );
}

function Occurrences({ clip, looked }: { clip: number; looked: number }) {
  const list = useFound({ clip });
  const found = list.data?.items ?? [];
  const more = list.data?.more ?? false;
  const { heard, player, play } = useHeard();
  const places = found.reduce((sum, { offsets }) => sum + offsets.length, 0);
  return (
    <section class="panel" aria-labelledby="occurrences">
      <h2 id="occurrences">
        {places === 0 ? 'Not found so far' : `Played ${plural(places, 'time')}, in ${plural(found.length, 'episode')}${more ? ' or more' : ''}`}
      </h2>
      <p class="quiet" role="status">{plural(looked, 'episode was', 'episodes were')} searched for it. <a href="/research">How far research is</a></p>
      {heard && (
        <div class="heard">
          <p role="status">{heard.title}, at {clock(heard.at)}</p>
          <Sound player={player} src={heard.src} title={heard.title} />
        </div>
      )}
      <ul class="findings">
        {found.map((finding) => <Occurrence key={finding.episode} finding={finding} play={play} />)}
      </ul>
      <ShowMore of={list} />
    </section>
  );
}

function Itself({ clip }: { clip: Curated }) {
  const src = soundOf(clip);
  const player = usePlayer(src);
  return (
    <section class="panel" aria-labelledby="itself">
      <h2 id="itself">The clip itself</h2>
      <Sound player={player} src={src} title={visible(titleOf(clip))} />
    </section>
  );
}

function Body({ clip, reload }: { clip: CuratedDetails; reload: () => void }) {
  const failed = useFailed({ clip: clip.id });
  const playable = clip.media === 'ready';
  return (
    <>
      <CuratedHeading kind="clips" of={clip} reload={reload} />
      {playable && <Itself clip={clip} />}
      {playable && <Occurrences clip={clip.id} looked={clip.researched} />}
      <Failures of={failed.data?.items ?? []} more={failed.data?.more} retry={{ clip: clip.id }} reload={failed.reload} />
      <CuratedAbout of={clip} />
    </>
  );
}

export default function ClipPage({ id }: { id: number }) {
  const path = Number.isSafeInteger(id) ? api(['clips', id]) : null;
  const clip = useResource<CuratedDetails>(path, { on: ['research.finding', 'job.progress', 'job.finished'], everyMs: refreshMs });
  useTitle(clip.data ? titleOf(clip.data) : 'Clip');
  if (path === null || clip.problem?.status === 404) {
    return (
      <>
        <h1 class="hidden">Clip</h1>
        <Empty title="This clip is not here">
          <p>It was taken away, or never was. <a href="/clips">See all clips</a>.</p>
        </Empty>
      </>
    );
  }
  return <Await from={clip}>{(data) => <Body clip={data} reload={clip.reload} />}</Await>;
}
