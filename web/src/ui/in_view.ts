import { useCallback, useState } from 'react';

const AHEAD = '300px'; // below the window, so that it is there when somebody scrolls to it

/** A ref for an element, and whether it has come into view: what is fetched for it waits for that. */
export function useSeen(): [(element: Element | null) => (() => void) | undefined, boolean] {
  const [isSeen, setSeen] = useState(false);
  const ref = useCallback((element: Element | null) => {
    if (element === null) return undefined;
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        setSeen(true);
        observer.disconnect();
      },
      { rootMargin: AHEAD },
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
    };
  }, []);
  return [ref, isSeen];
}
