// One episode: how it sounds, which clips are in it and where, and hearing them there.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { api } from '../core/api';
import { clock, plural, visible } from '../core/format';
import { useResource, useTitle } from '../core/hooks';
import type { CuratedDetails, Finding, Waveform } from '../core/research_types';
import { address } from '../core/router';
import { CuratedAbout, CuratedHeading } from '../parts/curated_about';
import { Failures } from '../parts/failures';
import { useFailed, useFound } from '../parts/found';
import { Empty } from '../parts/icons';
import { PlayButton, soundOf, Sound, usePlayer, type Player } from '../parts/player';
import { letterOf, likeness, placesOf, seconds, titleOf, toneOf, type Place } from '../parts/research_words';
import { ShowMore, type Growing } from '../parts/row_list';
import { Await } from '../parts/state';
import { WaveformView } from '../parts/waveform';
import '../style/crawls.css';
import '../style/research.css';

const refreshMs = 4000;
const unknown: Waveform = { points: [0], duration_ns: 0 };
const none: Finding[] = [];

function FindingRow({ finding, index, player }: { finding: Finding; index: number; player: Player }) {
  const title = visible(finding.clip_title);
  return (
    <li class="finding">
      <span class={`letter ${toneOf(index)}`} aria-hidden="true">{letterOf(index)}</span>
      <div>
        <a href={address('clips', finding.clip)}>{title}</a>
        <ul class="offsets">
          {finding.offsets.map(({ offset_ns, score }) => (
            <li key={offset_ns}>
              <PlayButton label={`Play ${title} at ${clock(seconds(offset_ns), 3)}`} onClick={() => player.playAt(seconds(offset_ns))}>
                {clock(seconds(offset_ns), 3)}
              </PlayButton>
              <span class="quiet">{likeness(score)}</span>
            </li>
          ))}
        </ul>
      </div>
    </li>
  );
}

function Findings({ list, found, looked, player }: { list: Growing<Finding>; found: Finding[]; looked: number; player: Player }) {
  if (found.length === 0) {
    return (
      <section class="panel" aria-labelledby="findings">
        <h2 id="findings">No clip was found in it</h2>
        <p class="quiet">
          {looked === 0 ? 'Nobody has listened to it yet: ' : `${plural(looked, 'clip was', 'clips were')} looked for. `}
          <a href="/research">how far research is</a>, <a href="/clips">add clips</a>.
        </p>
      </section>
    );
  }
  return (
    <section class="panel" aria-labelledby="findings">
      <h2 id="findings">{plural(found.length, 'clip')}{list.data?.more && ' or more'} in it</h2>
      <ul class="findings">
        {found.map((finding, index) => <FindingRow key={finding.clip} finding={finding} index={index} player={player} />)}
      </ul>
      <ShowMore of={list} />
    </section>
  );
}

// From the page of a clip one comes to its place, and hears it where the browser lets one.
function useArrival(player: Player, at: number | null): void {
  const done = useRef(false);
  useEffect(() => {
    if (at === null || done.current || !player.element.current) return;
    done.current = true;
    player.playAt(at);
  });
}

function Listening({ episode, found, player }: { episode: CuratedDetails; found: Finding[]; player: Player }) {
  // It comes with the first look of a researcher, who tells the length, too.
  const waveform = useResource<Waveform>(episode.duration_ns === 0 ? null : api(['episodes', episode.id, 'waveform']));
  const places = useMemo(() => placesOf(found, (finding) => visible(finding.clip_title)), [found]);
  const lengths = found.map(({ clip_duration_ns }) => seconds(clip_duration_ns ?? 0));
  const { points, duration_ns } = waveform.data ?? unknown;
  const duration = seconds(duration_ns || episode.duration_ns);
  const play = ({ at }: Place) => player.playAt(at);
  return (
    <section class="panel listening" aria-labelledby="listening">
      <h2 id="listening">Listen</h2>
      {duration > 0 ? (
        <WaveformView points={points} duration={duration} places={places} lengths={lengths} now={player.now} play={play} goTo={player.goTo} />
      ) : (
        <p class="quiet">A picture of its loudness is drawn once a researcher has listened to it.</p>
      )}
      <Sound player={player} src={soundOf(episode)} title={visible(titleOf(episode))} />
    </section>
  );
}

function Body({ episode, at, reload }: { episode: CuratedDetails; at: number | null; reload: () => void }) {
  const list = useFound({ episode: episode.id });
  const found = list.data?.items ?? none;
  const failed = useFailed({ episode: episode.id });
  const playable = episode.media === 'ready';
  const player = usePlayer(playable ? soundOf(episode) : null);
  useArrival(player, at);
  return (
    <>
      <CuratedHeading kind="episodes" of={episode} reload={reload} />
      {playable && <Listening episode={episode} found={found} player={player} />}
      {playable && <Findings list={list} found={found} looked={episode.researched} player={player} />}
      <Failures of={failed.data?.items ?? none} more={failed.data?.more} retry={{ episode: episode.id }} reload={failed.reload} />
      <CuratedAbout of={episode} />
    </>
  );
}

export default function EpisodePage({ id, query }: { id: number; query: URLSearchParams }) {
  const path = Number.isSafeInteger(id) ? api(['episodes', id]) : null;
  const episode = useResource<CuratedDetails>(path, { on: ['research.finding', 'job.progress', 'job.finished'], everyMs: refreshMs });
  useTitle(episode.data ? titleOf(episode.data) : 'Episode');
  if (path === null || episode.problem?.status === 404) {
    return (
      <>
        <h1 class="hidden">Episode</h1>
        <Empty title="This episode is not here">
          <p>It was taken away, or never was. <a href="/episodes">See all episodes</a>.</p>
        </Empty>
      </>
    );
  }
  const at = query.has('at') ? Number(query.get('at')) : null;
  return <Await from={episode}>{(data) => <Body episode={data} at={Number.isFinite(at) ? at : null} reload={episode.reload} />}</Await>;
}
