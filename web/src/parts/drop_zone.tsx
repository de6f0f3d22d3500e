// Where files come in: dropped anywhere on the page, or chosen.
import { useRef, useState } from 'preact/hooks';
import { pickChosen, pickDropped, type Picked } from '../core/dropped';
import { go } from '../core/router';
import { onlyCollection } from '../core/session';
import { startUpload, type UploadOptions } from '../core/uploads';
import { useDropped } from './dropping';
import { Icon } from './icons';
import { notify, notifyProblem } from './notice';

const languages = [['', 'Find out'], ['en', 'English'], ['de', 'German'], ['fr', 'French'], ['es', 'Spanish'], ['it', 'Italian'], ['pt', 'Portuguese'], ['nl', 'Dutch'], ['pl', 'Polish'], ['ru', 'Russian'], ['uk', 'Ukrainian'], ['ar', 'Arabic'], ['zh', 'Chinese']];

function Options({ value, set, collections }: { value: UploadOptions; set: (value: UploadOptions) => void; collections: string[] }) {
  const only = onlyCollection();
  return (
    <div class="drop-options">
      <label>
        Into the collection
        <input
          list="collections"
          value={value.collection}
          disabled={only !== null}
          maxLength={64}
          onInput={(event) => set({ ...value, collection: event.currentTarget.value })}
        />
        <datalist id="collections">{collections.map((name) => <option key={name} value={name} />)}</datalist>
      </label>
      <details>
        <summary>More choices</summary>
        <label class="check">
          <input type="checkbox" checked={value.ocr} onChange={(event) => set({ ...value, ocr: event.currentTarget.checked })} />
          Read the letters in scans and pictures (slow)
        </label>
        <label class="check">
          <input type="checkbox" checked={value.splitByPage} onChange={(event) => set({ ...value, splitByPage: event.currentTarget.checked })} />
          One document for each page
        </label>
        <label>
          Language of scans
          <select value={value.language} onChange={(event) => set({ ...value, language: event.currentTarget.value })}>
            {languages.map(([code, name]) => <option key={code} value={code}>{name}</option>)}
          </select>
        </label>
      </details>
    </div>
  );
}

export function DropZone({ collections }: { collections: string[] }) {
  const [options, setOptions] = useState<UploadOptions>({
    collection: onlyCollection() ?? 'default', ocr: false, splitByPage: false, language: '',
  });
  const [busy, setBusy] = useState(false);
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const current = useRef(options);
  current.current = options;

  const begin = async (pick: () => Promise<Picked[]> | Picked[]) => {
    setBusy(true);
    try {
      const picked = await pick();
      if (picked.length === 0) {
        notify('There are no files in that.');
        return;
      }
      const collection = current.current.collection.trim() || 'default';
      go(`/jobs/${await startUpload(picked, { ...current.current, collection })}`);
    } catch (failure) {
      if (failure instanceof Error && !('status' in failure)) notify(failure.message, 'bad');
      else notifyProblem(failure);
    } finally {
      setBusy(false);
    }
  };

  // Picked at once, before the input is emptied for the next time.
  const choose = (input: HTMLInputElement) => {
    void begin(() => pickChosen(input.files));
    input.value = '';
  };

  const over = useDropped((items) => begin(() => pickDropped(items)));

  return (
    <section class={`drop ${over ? 'over' : ''}`} aria-labelledby="drop-title">
      <Icon name="upload" size={36} />
      <h2 id="drop-title">{over ? 'Let go: they will be added' : busy ? 'Looking through what you gave…' : 'Drop files or folders here'}</h2>
      <p class="quiet">
        Archives, mailboxes, office files, scans, pictures, recordings: whatever is inside is found. Large files may be
        interrupted; they go on where they stopped.
      </p>
      <div class="buttons">
        <button type="button" class="main" disabled={busy} onClick={() => files.current?.click()}>
          Choose files
        </button>
        <button type="button" disabled={busy} onClick={() => folder.current?.click()}>
          Choose a folder
        </button>
      </div>
      <input
        ref={files} class="hidden" type="file" multiple tabIndex={-1} aria-hidden="true" data-test="files"
        onChange={(event) => choose(event.currentTarget)}
      />
      <input
        ref={(element) => {
          folder.current = element;
          element?.setAttribute('webkitdirectory', '');
        }}
        class="hidden" type="file" multiple tabIndex={-1} aria-hidden="true" data-test="folder"
        onChange={(event) => choose(event.currentTarget)}
      />
      <Options value={options} set={setOptions} collections={collections} />
    </section>
  );
}
