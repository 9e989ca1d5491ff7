import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { Button } from '../../ui/Button';
import { type Picked, fromDrop, fromInput } from './picked';

/** Where files are dropped, anywhere on the page, and the two buttons for those who do not drag. */
export function DropZone({ onPick }: { onPick: (picked: Promise<Picked[]>) => void }) {
  const isOver = useDrop(onPick);
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  useEffect(() => {
    folder.current?.setAttribute('webkitdirectory', ''); // React has no such property
  }, []);
  const taken = ({ target }: { target: HTMLInputElement }) => {
    onPick(Promise.resolve(fromInput(target.files ?? [])));
    target.value = ''; // so that the same file can be chosen again
  };
  return (
    <div
      className={`flex flex-col items-center gap-3 rounded-lg border-2 border-dashed px-6 py-9 text-center ${isOver ? 'border-accent bg-sunken' : 'border-control bg-raised'}`}
    >
      <p className="text-base font-medium">Drop slides or folders here</p>
      <p className="max-w-prose text-sm text-muted">
        A MIRAX slide with its folder, a DICOM series in a folder of its own. They go on uploading while you look at other
        pages.
      </p>
      <div className="flex flex-wrap justify-center gap-2">
        <Button look="primary" onClick={() => files.current?.click()}>
          Choose files
        </Button>
        <Button onClick={() => folder.current?.click()}>Choose a folder</Button>
      </div>
      <input ref={files} type="file" multiple hidden aria-label="Files of slides" onChange={taken} />
      <input ref={folder} type="file" multiple hidden aria-label="A folder of slides" onChange={taken} />
    </div>
  );
}

/** Whether files are being dragged over the page. */
function useDrop(onPick: (picked: Promise<Picked[]>) => void): boolean {
  const [isOver, setOver] = useState(false);
  // Before it is painted: whoever sees it may drop.
  useLayoutEffect(() => {
    const over = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = 'copy';
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false); // out of the window, not into another element
    };
    const drop = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault(); // else the browser opens the file
      setOver(false);
      onPick(fromDrop(event.dataTransfer));
    };
    window.addEventListener('dragover', over);
    window.addEventListener('dragleave', leave);
    window.addEventListener('drop', drop);
    return () => {
      window.removeEventListener('dragover', over);
      window.removeEventListener('dragleave', leave);
      window.removeEventListener('drop', drop);
    };
  }, [onPick]);
  return isOver;
}
