import { useCallback, useState } from 'react';

const AHEAD = '300px'; // below the window, so that content is there before the user scrolls to it

/** Returns a ref for an element, and whether it has been visible: its content is fetched only then. */
export function useInView(): [(element: Element | null) => (() => void) | undefined, boolean] {
  const [isInView, setInView] = useState(false);
  const ref = useCallback((element: Element | null) => {
    if (element === null) return undefined;
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        setInView(true);
        observer.disconnect();
      },
      { rootMargin: AHEAD },
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
    };
  }, []);
  return [ref, isInView];
}
