import { Button } from '../../ui/Button';
import { useToasts } from '../../ui/messages/toast_context';

/** A secret that is shown once, with a button that copies it. */
export function SecretShown({ label, secret }: { label: string; secret: string }) {
  const toasts = useToasts();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(secret);
      toasts.showSuccess('Copied.');
    } catch {
      toasts.showError('The browser did not allow copying. Select the text and copy it.');
    }
  };
  return (
    <div className="flex flex-col items-start gap-2">
      <p className="font-medium">{label}</p>
      <code className="w-full rounded-md border border-line bg-sunken px-3 py-2 wrap-anywhere select-all">{secret}</code>
      <Button onClick={() => void copy()}>Copy</Button>
      <p className="text-muted">It is shown this once. Nobody can read it again.</p>
    </div>
  );
}
