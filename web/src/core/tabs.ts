// Tabs share what is remembered of uploads. One asks the others what they are sending: that was not cut off.

const channel = 'BroadcastChannel' in window ? new BroadcastChannel('quern.uploads') : null;
const self = `${Date.now()} ${Math.random()}`;
const elsewhere = new Map<string, string[]>(); // keys of uploads, by tab
const askedAt = Date.now();
const answerMs = 500; // so long the others may take

let keysHere: () => string[] = () => [];

interface Message {
  type: 'who' | 'sending';
  tab: string;
  keys: string[];
}

function say(type: Message['type'], keys: string[]): void {
  channel?.postMessage({ type, tab: self, keys } satisfies Message);
}

// To be called when what is sent here changes.
export const tellTabs = (): void => say('sending', keysHere());

export function listenToTabs(keys: () => string[], changed: () => void): void {
  keysHere = keys;
  if (!channel) return;
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    elsewhere.set(data.tab, data.keys);
    if (data.type === 'who') tellTabs();
    changed();
  };
  say('who', keys());
  window.addEventListener('pagehide', () => say('sending', []));
  window.addEventListener('pageshow', tellTabs);
  window.setTimeout(changed, answerMs);
}

// Before they had time to answer, nothing can be said of them.
export const tabsAnswered = (): boolean => channel === null || Date.now() - askedAt >= answerMs;
export const isSentElsewhere = (key: string): boolean => [...elsewhere.values()].some((keys) => keys.includes(key));
