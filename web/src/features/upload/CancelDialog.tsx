import { Button } from '../../ui/Button';
import { Dialog } from '../../ui/Dialog';

interface Props {
  name: string | null; // of the slide; null while nobody asks
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
          <Button onClick={onClose}>Go on uploading</Button>
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
        What has arrived of <span className="break-all">{name}</span> is deleted from the server. To keep it for later,
        pause instead.
      </p>
    </Dialog>
  );
}
