import { useEffect, useRef, useState } from 'react';
import { Button } from '../../ui/Button';
import { number } from '../../ui/format';
import { ProgressBar } from '../../ui/ProgressBar';
import { useToasts } from '../../ui/toast_context';
import { CancelDialog } from './CancelDialog';
import { useUploads, useUploadsView } from './context';
import { TransferRow } from './TransferRow';
import { type Line, type View, isEnded } from './view';
import { progressOf, slides } from './words';

export function TransferList() {
  const uploads = useUploads();
  const view = useUploadsView();
  const say = useToasts();
  const [asked, setAsked] = useState<string | null>(null);
  const { lines } = view;
  const { list, keepFocus } = useKeptFocus(lines);
  if (lines.length === 0) return null;
  return (
    <section ref={list} tabIndex={-1} aria-label="Uploads" className="mt-6 rounded-lg border border-line bg-raised">
      <Summary view={view} />
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
              setAsked(line.key);
            }}
            onRemove={() => {
              keepFocus();
              uploads.remove([line.key]);
            }}
          />
        ))}
      </ul>
      <CancelDialog
        name={lines.find(({ key }) => key === asked)?.name ?? null}
        onClose={() => {
          setAsked(null);
        }}
        onCancel={() => {
          if (asked === null) return;
          keepFocus();
          uploads.cancel(asked).catch((error: unknown) => {
            say.failed(error instanceof Error ? error.message : String(error));
          });
        }}
      />
    </section>
  );
}

/** The focus stays here when the button that had it goes. */
function useKeptFocus(lines: readonly Line[]) {
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

function Summary({ view: { lines, total, isSending } }: { view: View }) {
  const uploads = useUploads();
  const ended = lines.filter(isEnded).map(({ key }) => key);
  const isPaused = lines.some(({ phase }) => phase === 'paused');
  return (
    <div className="flex flex-wrap items-end gap-x-6 gap-y-3 border-b border-line px-4 py-3">
      <div className="min-w-64 grow">
        <ProgressBar
          label={`${total.there < total.count ? `${number(total.there)} of ` : ''}${slides(total.count)} uploaded`}
          value={total.size === 0 ? 0 : total.arrived / total.size}
          detail={progressOf(total)}
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
