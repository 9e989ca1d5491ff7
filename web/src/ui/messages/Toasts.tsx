import { type ReactNode, useCallback, useMemo, useRef, useState } from 'react';
import { ToastContext } from './toast_context';
import { Button } from '../Button';

interface Toast {
  id: number;
  text: string;
  tone: 'good' | 'bad';
}

const SHOWN = 6000; // ms; errors stay until they are closed

/** Short messages about the user's actions, also for screen readers. */
export function Toasts({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const next = useRef(0);
  const drop = useCallback((id: number) => {
    setToasts((held) => held.filter((toast) => toast.id !== id));
  }, []);
  const add = useCallback(
    (text: string, tone: Toast['tone']) => {
      const id = next.current++;
      setToasts((held) => [...held, { id, text, tone }]);
      if (tone === 'good') {
        setTimeout(() => {
          drop(id);
        }, SHOWN);
      }
    },
    [drop],
  );
  const say = useMemo(
    () => ({
      showSuccess: (text: string) => {
        add(text, 'good');
      },
      showError: (text: string) => {
        add(text, 'bad');
      },
    }),
    [add],
  );
  return (
    <ToastContext value={say}>
      {children}
      <div
        role="log"
        aria-label="News"
        aria-live="polite"
        className="pointer-events-none fixed right-4 bottom-4 z-50 flex w-80 max-w-[calc(100vw-2rem)] flex-col gap-2"
      >
        {toasts.map(({ id, text, tone }) => (
          <div
            key={id}
            className={`pointer-events-auto flex items-center gap-2 rounded-lg border border-line bg-raised px-4 py-2 text-sm shadow-lg ${tone === 'bad' ? 'text-bad' : ''}`}
          >
            <p className="grow">{text}</p>
            <Button
              look="quiet"
              onClick={() => {
                drop(id);
              }}
            >
              Close
            </Button>
          </div>
        ))}
      </div>
    </ToastContext>
  );
}
