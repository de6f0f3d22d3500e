// Episodes: recordings in which clips are looked for, and the feeds that bring them.
import { api } from '../core/api';
import { visible, when } from '../core/format';
import { useResource } from '../core/hooks';
import type { Feed } from '../core/research_types';
import { may, onlyCollection } from '../core/session';
import type { Page } from '../core/types';
import { CuratedListPage } from '../parts/curated_list';
import { Empty, Icon } from '../parts/icons';
import { deleteUnlessUndone, useLeaving } from '../parts/leaving';

const refreshMs = 5000;

function Teaching() {
  return (
    <Empty title="No episode is here yet">
      <p>
        Episodes are long recordings: of a podcast, a radio show, a meeting. Paste the address of a feed above, and every episode
        of it is fetched, and each new one as it appears. Then add <a href="/clips">clips</a>: Quern listens to all episodes and
        tells where each clip was played, to the thousandth of a second.
      </p>
      <p>
        The same from a command line: <code>quern episodes add https://podcast.example/feed.xml</code>
      </p>
    </Empty>
  );
}

function FeedRow({ feed }: { feed: Feed }) {
  const name = visible(feed.title || feed.url);
  const path = api(['feeds', feed.feed]);
  return (
    <li class="job-row">
      <div class="what">
        <strong>{name}</strong>
        <span class="quiet">{feed.url}</span>
        {feed.problem !== '' && <span class="said bad">{feed.problem}</span>}
      </div>
      <div class="how">
        <span class="quiet">{[feed.checked && `looked at ${when(feed.checked)}`, feed.next && `again ${when(feed.next)}`].filter(Boolean).join(', ')}</span>
      </div>
      {may('edit') && (
        <button type="button" class="plain" aria-label={`Stop looking at ${name}`}
          onClick={() => deleteUnlessUndone(path, 'This feed is not looked at any more. Its episodes stay.')}>
          <Icon name="trash" />
        </button>
      )}
    </li>
  );
}

function Feeds() {
  const feeds = useResource<Page<Feed>>(api(['feeds'], { kind: 'episode', collection: onlyCollection() }), { on: ['job.finished'], everyMs: refreshMs });
  const leaving = useLeaving();
  const shown = (feeds.data?.items ?? []).filter(({ feed }) => !leaving.has(api(['feeds', feed])));
  if (shown.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="feeds">
      <h2 id="feeds">Feeds</h2>
      <ul class="job-rows">{shown.map((feed) => <FeedRow key={feed.feed} feed={feed} />)}</ul>
    </section>
  );
}

export default function EpisodesPage() {
  return <CuratedListPage kind="episodes" empty={<Teaching />}><Feeds /></CuratedListPage>;
}
