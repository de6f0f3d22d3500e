// "Why is this address not here?", answered in sentences.
import { useState } from 'preact/hooks';
import { api, get, Problem } from '../core/api';
import { address } from '../core/router';
import type { UrlStory } from '../core/types';
import { capturesHref } from './crawl_words';
import { Icon } from './icons';
import { notifyProblem } from './notice';

// As people write it: "/budget" is of the crawl's first site, "site.gov/x" is on the web.
function wholeAddress(given: string, base: string): string {
  const text = given.trim();
  try {
    if (text.startsWith('/')) return new URL(text, base).href;
  } catch {
    // The server says what is wrong with it.
  }
  return text === '' || text.includes('://') ? text : `${base.split(':')[0] || 'https'}://${text}`;
}

function Story({ story }: { story: UrlStory }) {
  const file = story.page?.file;
  return (
    <div class={`outcome tone-${story.in ? 'document' : 'void'}`}>
      <p class="asked">{story.url}</p>
      <p><strong>{story.verdict}</strong></p>
      {story.facts.length > 0 && <ul>{story.facts.map((fact) => <li key={fact}>{fact}</li>)}</ul>}
      <p class="row">
        {file !== undefined && <a href={address('files', file)}>What became of it</a>}
        {story.page && story.page.status > 0 && <a href={capturesHref(story.url, story.collection)}>Its captures</a>}
      </p>
    </div>
  );
}

export function ExplainUrl({ collection, base }: { collection: string; base: string }) {
  const [url, setUrl] = useState('');
  const [story, setStory] = useState<UrlStory | null>(null);
  const [wrong, setWrong] = useState('');
  const [busy, setBusy] = useState(false);
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault();
    setStory(null);
    setWrong('');
    if (url.trim() === '') return setWrong('Write an address.');
    setBusy(true);
    try {
      setStory(await get<UrlStory>(api(['explain-url'], { url: wholeAddress(url, base), collection })));
    } catch (failure) {
      if (failure instanceof Problem && !failure.passing) setWrong(failure.detail);
      else notifyProblem(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <section class="panel" aria-labelledby="explain">
      <h2 id="explain">Why is this address not here?</h2>
      <form class="explain" noValidate onSubmit={onSubmit}>
        <label for="explain-address">Address, or a path such as /budget</label>
        <div class="row">
          <input
            id="explain-address" inputMode="url" autocomplete="off" spellcheck={false} value={url} aria-invalid={wrong ? true : undefined}
            aria-describedby={wrong ? 'explain-wrong' : undefined} onInput={(event) => setUrl(event.currentTarget.value)}
          />
          <button type="submit" disabled={busy}>
            <Icon name="help" /> Ask
          </button>
        </div>
        {wrong && <p class="bad" id="explain-wrong">{wrong}</p>}
      </form>
      <div role="status">{story && <Story story={story} />}</div>
    </section>
  );
}
