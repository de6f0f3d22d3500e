// Files of a folder of the tree, in their order: as many as there are.
import { useRef } from 'preact/hooks';
import { api, get } from '../core/api';
import { baseName, bytes, count, folderName, kindName, plural, typeName, visible } from '../core/format';
import { address } from '../core/router';
import type { FileLine, Page } from '../core/types';
import { Icon, iconOf } from './icons';
import { ClassBadge } from './state';
import { VirtualList } from './virtual_list';
import '../style/tree.css';

const rowPx = 58;

function noteOf(file: FileLine): string {
  if (file.error_kind) return file.message && file.message !== file.error_kind ? file.message : kindName(file.error_kind);
  if (file.class === 'in_progress') return stateName[file.state] ?? '';
  return '';
}

export const stateName: Record<string, string> = {
  created: 'still arriving',
  written: 'waits for its step',
  processed: 'waits for what was in it',
  ingested: 'done',
};

function insideOf(file: FileLine): string {
  return file.n_children > 0 && file.class !== 'converted' ? `${count(file.n_children)} inside` : '';
}

// Its folders, as far as they are not those of the file that it is in.
function folderOf(filename: string, within: string): string {
  const folder = folderName(filename);
  if (folder === within || filename === within) return '';
  return within !== '' && folder.startsWith(`${within}/`) ? folder.slice(within.length + 1) : folder;
}

function FileRow({ file, within }: { file: FileLine; within: string }) {
  const type = typeName(file.detected_type ?? file.content_type);
  const folder = folderOf(file.filename, within);
  const note = [noteOf(file) || type, folder].filter(Boolean).join(' · ');
  return (
    <a class="file-row" href={address('files', file.file)}>
      <Icon name={iconOf(file.detected_type ?? file.content_type, file.class)} />
      <span class="names">
        <span class="name">{visible(baseName(file.filename))}</span>
        <span class={`under ${file.error_kind ? 'bad' : 'quiet'}`}>{note}</span>
      </span>
      <span class="inside quiet">{insideOf(file)}</span>
      <span class="size quiet">{file.bytes === undefined ? '' : bytes(file.bytes)}</span>
      <ClassBadge of={file.class} />
    </a>
  );
}

// `path`: of a list by index. Where indexes have gaps, going down row by row is still right.
interface FileRowsProps {
  path: (string | number)[];
  within?: string;
  files: number;
  turn: number;
}
export function FileRows({ path, within = '', files, turn }: FileRowsProps) {
  const ends = useRef(new Map<number, number>()); // the index before each offset
  const load = async (offset: number, limit: number, signal: AbortSignal) => {
    const after = ends.current.get(offset) ?? (offset > 0 ? offset - 1 : null);
    const { items } = await get<Page<FileLine>>(api(path, { after, limit }), signal);
    const last = items.at(-1)?.index;
    if (last !== undefined) ends.current.set(offset + items.length, last);
    return items;
  };
  if (files === 0) return null;
  return (
    <VirtualList
      count={files}
      rowPx={rowPx}
      label={plural(files, 'file')}
      load={load}
      turn={turn}
      row={(file) => <FileRow file={file} within={within} />}
    />
  );
}
