import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useApi } from '../../api/context';
import { objectToLeaving } from '../../session/leaving';
import { useToasts } from '../../ui/toast_context';
import { lockingClaims } from './claims';
import { UploadsContext } from './context';
import { digestInWorker } from './digest';
import { wait } from './patience';
import { put } from './put';
import { listenToOtherTabs } from './remembered';
import { UploadServer } from './server';
import { Uploads } from './uploads';

/** Holds the uploads above all pages, and ends them with the session. */
export function UploadsProvider({ children }: { children: ReactNode }) {
  const api = useApi();
  const queries = useQueryClient();
  const [uploads] = useState(
    () =>
      new Uploads({
        server: new UploadServer(api),
        digest: digestInWorker(),
        put,
        claims: lockingClaims(),
        pause: wait,
        now: () => performance.now(),
        onSlides: () => void queries.invalidateQueries({ queryKey: ['slides'] }),
      }),
  );
  useEffect(
    () => () => {
      uploads.stop();
    },
    [uploads],
  );
  useWarningBeforeClosing(uploads);
  useReconnecting(uploads);
  useOtherTabs();
  useNewsOfTheEnd(uploads);
  return <UploadsContext value={uploads}>{children}</UploadsContext>;
}

/** The tab, or the session. */
function useWarningBeforeClosing(uploads: Uploads) {
  useEffect(() => {
    const warn = (event: BeforeUnloadEvent) => {
      if (uploads.current().isSending) event.preventDefault();
    };
    window.addEventListener('beforeunload', warn);
    const noMore = objectToLeaving(() => uploads.current().isSending);
    return () => {
      window.removeEventListener('beforeunload', warn);
      noMore();
    };
  }, [uploads]);
}

function useReconnecting(uploads: Uploads) {
  useEffect(() => {
    const goOn = () => {
      uploads.resumeAll({ broken: true });
    };
    window.addEventListener('online', goOn);
    return () => {
      window.removeEventListener('online', goOn);
    };
  }, [uploads]);
}

/** Another tab has begun an upload, or ended one. */
function useOtherTabs() {
  const queries = useQueryClient();
  useEffect(
    () =>
      listenToOtherTabs(() => {
        void queries.invalidateQueries({ queryKey: ['slides'] });
      }),
    [queries],
  );
}

/** For whoever has gone to another page meanwhile, and for those who listen. */
function useNewsOfTheEnd(uploads: Uploads) {
  const say = useToasts();
  const wasGoing = useRef(false);
  useEffect(
    () =>
      uploads.subscribe(() => {
        const { isGoing, lines } = uploads.current();
        if (wasGoing.current && !isGoing) {
          const count = (phase: string) => lines.filter((line) => line.phase === phase).length;
          const ready = count('ready');
          const isElsewhere = window.location.pathname !== '/upload'; // where the sentence stands
          if (isElsewhere && count('failed') > 0) say.failed('An upload has stopped. See the page Upload.');
          else if (isElsewhere && count('rejected') > 0) say.failed('A slide was rejected. See the page Upload.');
          else if (ready > 0) say.done(ready === 1 ? 'The slide is ready.' : `${ready} slides are ready.`);
        }
        wasGoing.current = isGoing;
      }),
    [uploads, say],
  );
}
