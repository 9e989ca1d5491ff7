import { Button } from '../../../ui/Button';
import { Dialog } from '../../../ui/Dialog';

interface Props {
  name: string | null; // of the slide; null: the dialog is closed
  onClose: () => void;
  onCancel: () => void;
}

export function CancelDialog({ name, onClose, onCancel }: Props) {
  return (
    <Dialog
      title="Cancel this upload?"
      open={name !== null}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Keep uploading</Button>
          <Button
            look="danger"
            onClick={() => {
              onClose();
              onCancel();
            }}
          >
            Cancel the upload
          </Button>
        </>
      }
    >
      <p>
        The uploaded parts of <span className="break-all">{name}</span> are deleted from the server. To continue later,
        pause instead.
      </p>
    </Dialog>
  );
}
