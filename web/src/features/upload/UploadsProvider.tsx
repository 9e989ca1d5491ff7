import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useApi } from '../../api/context';
import { blockLeaving } from '../../session/leave_guard';
import { useToasts } from '../../ui/messages/toast_context';
import { makeTabLocks } from './transfer/tab_locks';
import { UploadsContext } from './context';
import { makeWorkerDigest } from './transfer/digest';
import { wait } from './transfer/retry';
import { putPart } from './transfer/put_part';
import { listenToOtherTabs } from './transfer/remembered_uploads';
import { UploadServer } from './transfer/upload_server';
import { Uploads } from './transfer/uploads';

/** Provides the uploads to all pages, and stops them when the session ends. */
export function UploadsProvider({ children }: { children: ReactNode }) {
  const api = useApi();
  const queries = useQueryClient();
  const [uploads] = useState(
    () =>
      new Uploads({
        server: new UploadServer(api),
        digest: makeWorkerDigest(),
        put: putPart,
        locks: makeTabLocks(),
        pause: wait,
        now: () => performance.now(),
        onSlidesChange: () => void queries.invalidateQueries({ queryKey: ['slides'] }),
      }),
  );
  useEffect(
    () => () => {
      uploads.stop();
    },
    [uploads],
  );
  useLeaveWarning(uploads);
  useResumeOnline(uploads);
  useTabSync();
  useEndToast(uploads);
  return <UploadsContext value={uploads}>{children}</UploadsContext>;
}

/** Warns before the user closes the tab or signs out during an upload. */
function useLeaveWarning(uploads: Uploads) {
  useEffect(() => {
    const warn = (event: BeforeUnloadEvent) => {
      if (uploads.current().isSending) event.preventDefault();
    };
    window.addEventListener('beforeunload', warn);
    const unblock = blockLeaving(() => uploads.current().isSending);
    return () => {
      window.removeEventListener('beforeunload', warn);
      unblock();
    };
  }, [uploads]);
}

function useResumeOnline(uploads: Uploads) {
  useEffect(() => {
    const resume = () => {
      uploads.resumeAll({ broken: true });
    };
    window.addEventListener('online', resume);
    return () => {
      window.removeEventListener('online', resume);
    };
  }, [uploads]);
}

/** Refreshes the list of slides when another tab starts or ends an upload. */
function useTabSync() {
  const queries = useQueryClient();
  useEffect(
    () =>
      listenToOtherTabs(() => {
        void queries.invalidateQueries({ queryKey: ['slides'] });
      }),
    [queries],
  );
}

/** Shows a message when all uploads have ended, for users on another page and for screen readers. */
function useEndToast(uploads: Uploads) {
  const toasts = useToasts();
  const wasGoing = useRef(false);
  useEffect(
    () =>
      uploads.subscribe(() => {
        const { isActive, lines } = uploads.current();
        if (wasGoing.current && !isActive) {
          const count = (phase: string) => lines.filter((line) => line.phase === phase).length;
          const ready = count('ready');
          const isElsewhere = window.location.pathname !== '/upload'; // which shows the reason itself
          if (isElsewhere && count('failed') > 0) toasts.showError('An upload has stopped. See the Upload page.');
          else if (isElsewhere && count('rejected') > 0) toasts.showError('A slide was rejected. See the Upload page.');
          else if (ready > 0) toasts.showSuccess(ready === 1 ? 'The slide is ready.' : `${ready} slides are ready.`);
        }
        wasGoing.current = isActive;
      }),
    [uploads, toasts],
  );
}
