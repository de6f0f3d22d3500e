// Jobs and collections that a person has deleted and could still bring back: lists leave them out.
import { useEffect, useState } from 'preact/hooks';
import { Problem, remove } from '../core/api';
import { doUnlessUndone } from './notice';

const leaving = new Set<string>();
const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of [...listeners]) listener();
}

export function deleteUnlessUndone(path: string, text: string): void {
  leaving.add(path);
  tell();
  const stays = () => {
    leaving.delete(path);
    tell();
  };
  const then = () =>
    remove(path).catch((failure: unknown) => {
      if (!(failure instanceof Problem && failure.status === 404)) throw failure;
    });
  doUnlessUndone(text, then, stays);
}

export function useLeaving(): ReadonlySet<string> {
  const [, setTurn] = useState(0);
  useEffect(() => {
    const listener = () => setTurn((before) => before + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return leaving;
}
