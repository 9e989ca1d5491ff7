import { useEffect, useRef, useState } from 'react';
import { Button } from '../../../ui/Button';
import { formatNumber } from '../../../ui/format';
import { ProgressBar } from '../../../ui/messages/ProgressBar';
import { useToasts } from '../../../ui/messages/toast_context';
import { CancelDialog } from './CancelDialog';
import { useUploads, useUploadsView } from '../context';
import { TransferRow } from './TransferRow';
import { type UploadLine, type UploadsView, isFinished } from '../transfer/uploads_view';
import { describeProgress, countSlides } from './labels';

export function TransferList() {
  const uploads = useUploads();
  const view = useUploadsView();
  const toasts = useToasts();
  const [cancelKey, setCancelKey] = useState<string | null>(null);
  const { lines } = view;
  const { list, keepFocus } = useKeptFocus(lines);
  if (lines.length === 0) return null;
  return (
    <section ref={list} tabIndex={-1} aria-label="Uploads" className="mt-6 rounded-lg border border-line bg-raised">
      <UploadSummary view={view} />
      <ul>
        {lines.map((line) => (
          <TransferRow
            key={line.key}
            line={line}
            onPause={() => {
              uploads.pause(line.key);
            }}
            onResume={() => {
              uploads.resume(line.key);
            }}
            onCancel={() => {
              setCancelKey(line.key);
            }}
            onRemove={() => {
              keepFocus();
              uploads.remove([line.key]);
            }}
          />
        ))}
      </ul>
      <CancelDialog
        name={lines.find(({ key }) => key === cancelKey)?.name ?? null}
        onClose={() => {
          setCancelKey(null);
        }}
        onCancel={() => {
          if (cancelKey === null) return;
          keepFocus();
          uploads.cancel(cancelKey).catch((error: unknown) => {
            toasts.showError(error instanceof Error ? error.message : String(error));
          });
        }}
      />
    </section>
  );
}

/** Keeps the focus in the list when the button that had it disappears. */
function useKeptFocus(lines: readonly UploadLine[]) {
  const list = useRef<HTMLElement>(null);
  const isPressed = useRef(false);
  useEffect(() => {
    if (!isPressed.current || document.activeElement !== document.body) return;
    isPressed.current = false;
    (list.current ?? document.querySelector('h1'))?.focus();
  }, [lines]);
  const keepFocus = () => {
    isPressed.current = true;
  };
  return { list, keepFocus };
}

function UploadSummary({ view: { lines, total, isSending } }: { view: UploadsView }) {
  const uploads = useUploads();
  const ended = lines.filter(isFinished).map(({ key }) => key);
  const isPaused = lines.some(({ phase }) => phase === 'paused');
  return (
    <div className="flex flex-wrap items-end gap-x-6 gap-y-3 border-b border-line px-4 py-3">
      <div className="min-w-64 grow">
        <ProgressBar
          label={`${total.uploadedCount < total.count ? `${formatNumber(total.uploadedCount)} of ` : ''}${countSlides(total.count)} uploaded`}
          value={total.size === 0 ? 0 : total.arrived / total.size}
          detail={describeProgress(total)}
        />
      </div>
      <div className="flex gap-2">
        {isSending ? (
          <Button
            onClick={() => {
              uploads.pauseAll();
            }}
          >
            Pause all
          </Button>
        ) : (
          isPaused && (
            <Button
              onClick={() => {
                uploads.resumeAll();
              }}
            >
              Resume all
            </Button>
          )
        )}
        {ended.length > 0 && (
          <Button
            look="quiet"
            onClick={() => {
              uploads.remove(ended);
            }}
          >
            Clear finished
          </Button>
        )}
      </div>
    </div>
  );
}
