// Files that are dropped anywhere on a page.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

// Whether some are held over the page. What was let go must be looked at before `then` waits for anything.
export function useDropped(then: (items: DataTransferItemList) => unknown): boolean {
  const [over, setOver] = useState(false);
  const latest = useRef(then);
  latest.current = then;
  // At once: what is dropped as soon as the page can be seen must not be lost.
  useLayoutEffect(() => {
    let depth = 0; // enter and leave come for every element on the way
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;
    const onEnter = (event: DragEvent) => {
      if (hasFiles(event) && ++depth === 1) setOver(true);
    };
    const onLeave = (event: DragEvent) => {
      if (hasFiles(event) && --depth <= 0) setOver(false);
    };
    const onOver = (event: DragEvent) => {
      if (hasFiles(event)) event.preventDefault();
    };
    const onDrop = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      depth = 0;
      setOver(false);
      const items = event.dataTransfer!.items;
      void latest.current(items);
    };
    const events = [['dragenter', onEnter], ['dragleave', onLeave], ['dragover', onOver], ['drop', onDrop]] as const;
    for (const [name, then] of events) document.addEventListener(name, then as EventListener);
    return () => {
      for (const [name, then] of events) document.removeEventListener(name, then as EventListener);
    };
  }, []);
  return over;
}
