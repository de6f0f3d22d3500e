// What the steps do, in words.
const stepNames: Record<string, string> = {
  Detect: 'Finding out the type',
  Archive: 'Opening archives',
  Email: 'Opening mails',
  Mbox: 'Opening mailboxes',
  Pst: 'Opening Outlook mailboxes',
  Msg: 'Opening Outlook mails',
  Html: 'Reading web pages',
  Image: 'Reading pictures',
  Office: 'Converting office files',
  Pdf: 'Reading PDFs',
  PdfOcr: 'Reading text in pictures (OCR)',
  Text: 'Reading text files',
  Ebook: 'Reading e-books',
  Audio: 'Reading sound and video',
  Page: 'Splitting into pages',
};

export const stepName = (step: string | null | undefined): string => (step ? stepNames[step] ?? step : '');

// Milliseconds of work, short enough for a table.
export function work(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${(seconds / 3600).toFixed(1)} h`;
}
