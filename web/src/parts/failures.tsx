// Clips that could not be looked for, and why; trying them again.
import { api, post } from '../core/api';
import { plural, visible } from '../core/format';
import type { Finding } from '../core/research_types';
import { address } from '../core/router';
import { may } from '../core/session';
import { Icon } from './icons';
import { notify, notifyProblem } from './notice';

export interface RetryOf {
  episode?: number;
  clip?: number;
}

async function retryFailed(of: RetryOf, reload: () => void): Promise<void> {
  try {
    await post(api(['research']), { retry: 'failed', ...of });
    notify('They are looked for again, as soon as a researcher is free.');
    reload();
  } catch (failure) {
    notifyProblem(failure);
  }
}

export function Failures({ of, retry, reload, more = false }: { of: Finding[]; retry: RetryOf; reload: () => void; more?: boolean }) {
  if (of.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="failures">
      <header>
        <h2 id="failures">{more ? 'Could not be looked for' : `${plural(of.length, 'pair')} could not be looked for`}</h2>
        {may('edit') && (
          <button type="button" onClick={() => retryFailed(retry, reload)}>
            <Icon name="retry" /> Try {retry.episode === undefined && retry.clip === undefined ? 'all' : 'them'} again
          </button>
        )}
      </header>
      <ul class="failures">
        {of.map((one) => (
          <li key={`${one.episode}.${one.clip}`}>
            <a href={address('clips', one.clip)}>{visible(one.clip_title)}</a>
            {retry.episode === undefined && (
              <> in <a href={address('episodes', one.episode)}>{visible(one.episode_title)}</a></>
            )}
            <span class="said bad">{one.error}</span>
          </li>
        ))}
      </ul>
      {more && <p class="quiet">There are more; these are the first.</p>}
    </section>
  );
}
