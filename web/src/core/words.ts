// Words as they are marked in what a person reads.

// Scripts that write no blanks: a word of theirs may stand in the middle of others.
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

export const isUnspaced = (word: string): boolean => unspaced.test(word);

const escaped = (word: string) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

function whole(word: string): string {
  return isUnspaced(word) ? escaped(word) : `(?<![\\p{L}\\p{N}])${escaped(word)}(?![\\p{L}\\p{N}])`;
}

// Finds any of them, the longest first; null without words.
export function patternOf(words: string[]): RegExp | null {
  if (words.length === 0) return null;
  return new RegExp([...words].sort((a, b) => b.length - a.length).map(whole).join('|'), 'giu');
}
