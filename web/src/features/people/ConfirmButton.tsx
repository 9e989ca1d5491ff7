import { type ReactNode, useState } from 'react';
import { Button } from '../../ui/Button';
import { Dialog } from '../../ui/Dialog';

interface Props {
  label: string; // of the button
  name: string; // whom or what it is about
  title: string;
  onConfirm: () => void;
  children: ReactNode; // what happens then
}

/** A button that asks before it takes something away. */
export function ConfirmButton({ label, name, title, onConfirm, children }: Props) {
  const [isAsking, setAsking] = useState(false);
  const close = () => {
    setAsking(false);
  };
  return (
    <>
      <Button
        look="quiet"
        aria-label={`${label} ${name}`}
        onClick={() => {
          setAsking(true);
        }}
      >
        {label}
      </Button>
      <Dialog
        title={title}
        open={isAsking}
        onClose={close}
        actions={
          <>
            <Button onClick={close}>Cancel</Button>
            <Button
              look="danger"
              onClick={() => {
                close();
                onConfirm();
              }}
            >
              {label}
            </Button>
          </>
        }
      >
        {children}
      </Dialog>
    </>
  );
}
