import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { Button } from '../../../ui/Button';
import { type PickedFile, readDroppedFiles, readInputFiles } from './file_picker';

/** Accepts files that are dropped anywhere on the page, with two buttons for users who do not drag. */
export function DropZone({ onPick }: { onPick: (picked: Promise<PickedFile[]>) => void }) {
  const isOver = useFileDrop(onPick);
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  useEffect(() => {
    folder.current?.setAttribute('webkitdirectory', ''); // React has no such property
  }, []);
  const pickFiles = ({ target }: { target: HTMLInputElement }) => {
    onPick(Promise.resolve(readInputFiles(target.files ?? [])));
    target.value = ''; // so that the same file can be chosen again
  };
  return (
    <div
      className={`flex flex-col items-center gap-3 rounded-lg border-2 border-dashed px-6 py-9 text-center ${isOver ? 'border-accent bg-sunken' : 'border-control bg-raised'}`}
    >
      <p className="text-base font-medium">Drop slides or folders here</p>
      <p className="max-w-prose text-sm text-muted">
        Add a MIRAX slide together with its folder, and a DICOM series in a folder of its own. Uploads continue while you
        visit other pages.
      </p>
      <div className="flex flex-wrap justify-center gap-2">
        <Button look="primary" onClick={() => files.current?.click()}>
          Choose files
        </Button>
        <Button onClick={() => folder.current?.click()}>Choose a folder</Button>
      </div>
      <input ref={files} type="file" multiple hidden aria-label="Files of slides" onChange={pickFiles} />
      <input ref={folder} type="file" multiple hidden aria-label="A folder of slides" onChange={pickFiles} />
    </div>
  );
}

/** Handles drops on the page; returns whether files are being dragged over it. */
function useFileDrop(onPick: (picked: Promise<PickedFile[]>) => void): boolean {
  const [isOver, setOver] = useState(false);
  // Before the first paint: a user who sees the zone may drop at once.
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
      event.preventDefault(); // otherwise the browser opens the file
      setOver(false);
      onPick(readDroppedFiles(event.dataTransfer));
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
