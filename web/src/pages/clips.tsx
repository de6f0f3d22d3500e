// Clips: what is looked for in all episodes.
import { CuratedListPage } from '../parts/curated_list';
import { Empty } from '../parts/icons';

function Teaching() {
  return (
    <Empty title="No clip is here yet">
      <p>
        A clip is a short recording that is played again and again: a drop, a jingle, a quote. Add one above, and every{' '}
        <a href="/episodes">episode</a> is searched for it. It is found when it was made louder or quieter, was encoded anew, or
        lies under some noise. One second or more is best.
      </p>
      <p>
        The same from a command line: <code>quern clips add jingle.mp3 --priority 5</code>
      </p>
    </Empty>
  );
}

export default function ClipsPage() {
  return <CuratedListPage kind="clips" empty={<Teaching />} />;
}
