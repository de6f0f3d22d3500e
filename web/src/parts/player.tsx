// A recording that is heard, and goes to a place in it.
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { api } from '../core/api';
import { address } from '../core/router';
import { Icon } from './icons';

// Of an episode or a clip.
export const soundOf = ({ id }: { id: number }): string => address('research', 'media', id);

export interface Player {
  element: RefObject<HTMLAudioElement | null>;
  now: number; // in seconds
  playAt: (at: number) => void;
  goTo: (at: number) => void;
}

// What is done with a recording whose length is not known yet waits until it is.
function whenKnown(audio: HTMLAudioElement, then: () => void): void {
  if (audio.readyState >= HTMLMediaElement.HAVE_METADATA) then();
  else audio.addEventListener('loadedmetadata', then, { once: true });
}

// `src`: another one begins anew.
export function usePlayer(src: string | null): Player {
  const element = useRef<HTMLAudioElement>(null);
  const [now, setNow] = useState(0);
  useEffect(() => {
    const audio = element.current;
    if (!audio) return;
    const tell = () => setNow(audio.currentTime);
    setNow(0);
    const events = ['timeupdate', 'seeking', 'seeked', 'emptied'];
    for (const name of events) audio.addEventListener(name, tell);
    return () => {
      for (const name of events) audio.removeEventListener(name, tell);
    };
  }, [src]);
  const goTo = (at: number) => {
    const audio = element.current;
    if (audio) whenKnown(audio, () => (audio.currentTime = at));
  };
  const playAt = (at: number) => {
    const audio = element.current;
    if (!audio) return;
    whenKnown(audio, () => {
      audio.currentTime = at;
      // Browsers let nobody be startled: without a press of a key or button it only stands at the place.
      audio.play().catch(() => {});
    });
  };
  return { element, now, playAt, goTo };
}

export const downloadOf = (file: number): string => api(['files', file, 'blob'], { download: true });

export function Sound({ player, src, title }: { player: Player; src: string; title: string }) {
  const [broken, setBroken] = useState(false);
  useEffect(() => setBroken(false), [src]);
  return (
    <div class="sound">
      <audio ref={player.element} controls preload="metadata" src={src} aria-label={`Player: ${title}`} onError={() => setBroken(true)} />
      {broken && (
        <p class="bad" role="alert">
          This browser cannot play it. <a href={src} download>Download it</a>, and open it with a player of yours.
        </p>
      )}
    </div>
  );
}

export function PlayButton({ label, onClick, children }: { label: string; onClick: () => void; children?: preact.ComponentChildren }) {
  return (
    <button type="button" class="play" aria-label={label} onClick={onClick}>
      <Icon name="play" size={14} /> {children}
    </button>
  );
}
