// What the page of an episode and the page of a clip share: what is known of it, its priority, taking it away.
import { useEffect, useState } from 'preact/hooks';
import { api, patch } from '../core/api';
import { bytes, isWebAddress, typeName, visible, when } from '../core/format';
import type { Curated, CuratedKind } from '../core/research_types';
import { address, go } from '../core/router';
import { may } from '../core/session';
import { Icon } from './icons';
import { deleteUnlessUndone } from './leaving';
import { notify, notifyProblem } from './notice';
import { downloadOf } from './player';
import { lengthOf, MediaBadge, titleOf, wordsOf } from './research_words';
import { Facts } from './state';

function Priority({ kind, of, reload }: { kind: CuratedKind; of: Curated; reload: () => void }) {
  const [text, setText] = useState(String(of.priority));
  useEffect(() => setText(String(of.priority)), [of.priority]);
  const value = Number(text);
  const isNew = Number.isInteger(value) && text.trim() !== '' && value !== of.priority;
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!isNew) return;
    try {
      await patch(api([kind, of.id]), { priority: value });
      notify('The priority was changed. Work that was handed out already goes on.');
      reload();
    } catch (failure) {
      notifyProblem(failure);
    }
  };
  return (
    <form class="priority" onSubmit={onSubmit}>
      <label>
        Priority <input type="number" step={1} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <button type="submit" disabled={!isNew}>Set</button>
    </form>
  );
}

export function CuratedHeading({ kind, of, reload }: { kind: CuratedKind; of: Curated; reload: () => void }) {
  const words = wordsOf[kind];
  const takeAway = () => {
    deleteUnlessUndone(api([kind, of.id]), `The ${words.one} is taken away, with what was found. Its file stays.`);
    go(address(kind));
  };
  return (
    <div class="heading">
      <h1>{visible(titleOf(of))}</h1>
      <MediaBadge of={of} />
      {may('edit') && (
        <div class="buttons">
          <Priority kind={kind} of={of} reload={reload} />
          <button type="button" onClick={takeAway}>
            <Icon name="trash" /> Take away
          </button>
        </div>
      )}
    </div>
  );
}

const outside = (url: string) => (isWebAddress(url) ? <a href={url} rel="noreferrer">{url}</a> : url);

export function CuratedAbout({ of }: { of: Curated }) {
  return (
    <section class="panel" aria-label="About">
      {of.media === 'pending' && <p role="status">Its recording is being fetched. This page shows more as soon as it is here.</p>}
      {of.media === 'failed' && (
        <p class="outcome-line">
          <strong>Its recording could not be had.</strong> {of.problem} Look at the address, then add it again: nothing is doubled.
        </p>
      )}
      {of.description !== '' && <p class="description">{of.description}</p>}
      <Facts
        of={[
          ['aired', when(of.date_aired)],
          ['length', lengthOf(of)],
          ['recording', of.media === 'ready' ? `${typeName(of.media_type)}, ${bytes(of.bytes)}` : ''],
          ['feed', outside(of.source)],
          ['address', outside(of.url)],
          ['collection', <a href={address('collections', of.collection)}>{of.collection}</a>],
          ['here since', when(of.initial_date_curated)],
          ['last seen there', when(of.last_date_curated)],
          ['its file', of.file === null ? '' : (
            <>
              <a href={address('files', of.file)}>what became of it</a>, <a href={downloadOf(of.file)} download>download</a>
            </>
          )],
        ]}
      />
    </section>
  );
}
