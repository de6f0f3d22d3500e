// Short messages at the edge of the page, some with an undo; and questions that need an answer.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Problem } from '../core/api';
import { Icon } from './icons';

interface Notice {
  id: number;
  text: string;
  tone: 'info' | 'bad';
  undo?: () => void;
}

export const undoMs = 8000;
const noticesMax = 4;

let notices: Notice[] = [];
let next = 1;
let changed: () => void = () => {};

function drop(id: number): void {
  notices = notices.filter((notice) => notice.id !== id);
  changed();
}

export function notify(text: string, tone: Notice['tone'] = 'info', undo?: () => void): number {
  const notice: Notice = { id: next++, text, tone, undo };
  notices = [...notices.slice(-(noticesMax - 1)), notice];
  changed();
  window.setTimeout(() => drop(notice.id), tone === 'bad' ? 2 * undoMs : undoMs);
  return notice.id;
}

export function notifyProblem(failure: unknown): void {
  notify(failure instanceof Problem ? failure.detail : 'Something went wrong on this page.', 'bad');
}

// Does it once the time to think better of it has passed, or the page is left: people were told that it is done.
export function doUnlessUndone(text: string, then: () => Promise<unknown>, undone: () => void = () => {}): void {
  const end = () => {
    window.clearTimeout(timer);
    window.removeEventListener('pagehide', act);
  };
  const act = () => {
    end();
    drop(id);
    then().catch((failure) => {
      undone();
      notifyProblem(failure);
    });
  };
  const timer = window.setTimeout(act, undoMs);
  window.addEventListener('pagehide', act);
  const id = notify(text, 'info', () => {
    end();
    undone();
  });
}

export function Notices() {
  const [, setTurn] = useState(0);
  useEffect(() => {
    changed = () => setTurn((before) => before + 1);
    return () => void (changed = () => {});
  }, []);
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.map((notice) => (
        <div key={notice.id} class={`notice ${notice.tone}`}>
          <span>{notice.text}</span>
          {notice.undo && (
            <button
              type="button"
              onClick={() => {
                notice.undo?.();
                drop(notice.id);
              }}
            >
              Undo
            </button>
          )}
          <button type="button" class="plain" aria-label="Close this message" onClick={() => drop(notice.id)}>
            <Icon name="close" size={16} />
          </button>
        </div>
      ))}
    </div>
  );
}

interface Question {
  title: string;
  text: string;
  yes: string;
  danger?: boolean;
}

let ask: (question: Question) => Promise<boolean> = async () => false;
// A dialog; true where the person agreed.
export const confirm = (question: Question): Promise<boolean> => ask(question);

export function Confirmer() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [question, setQuestion] = useState<Question | null>(null);
  const answer = useRef<(yes: boolean) => void>(() => {});
  useEffect(() => {
    ask = (asked) =>
      new Promise((resolve) => {
        answer.current = resolve;
        setQuestion(asked);
      });
  }, []);
  useEffect(() => {
    if (question) dialog.current?.showModal();
  }, [question]);
  const end = (yes: boolean) => {
    answer.current(yes);
    dialog.current?.close();
    setQuestion(null);
  };
  return (
    <dialog ref={dialog} class="question" aria-labelledby="question-title" onCancel={() => end(false)}>
      {question && (
        <>
          <h2 id="question-title">{question.title}</h2>
          <p>{question.text}</p>
          <div class="buttons">
            <button type="button" onClick={() => end(false)} autofocus>
              No, leave it
            </button>
            <button type="button" class={question.danger ? 'danger' : 'main'} onClick={() => end(true)}>
              {question.yes}
            </button>
          </div>
        </>
      )}
    </dialog>
  );
}
