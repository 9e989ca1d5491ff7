import { type ReactNode, useEffect, useId, useRef } from 'react';

interface Props {
  title: string;
  open: boolean;
  onClose: () => void; // also called on Escape
  children: ReactNode;
  actions: ReactNode; // buttons; the harmless one first
}

/** The browser's own modal dialog: it keeps the focus inside, and then returns it. */
export function Dialog({ title, open, onClose, children, actions }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault(); // the owner of `open` closes it
        onClose();
      }}
      className="m-auto w-full max-w-lg rounded-lg border border-line bg-raised p-6 text-ink"
    >
      {open && (
        <>
          <h2 id={heading} className="text-lg font-semibold">
            {title}
          </h2>
          <div className="mt-3 text-sm">{children}</div>
          <div className="mt-6 flex flex-wrap justify-end gap-2">{actions}</div>
        </>
      )}
    </dialog>
  );
}
