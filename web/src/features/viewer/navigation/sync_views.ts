import { useCallback, useEffect, useRef, useState } from 'react';
import type { Engine } from '../engine/engine';
import { type Viewport, formatViewport, parseViewport } from './viewport';

const REST_TIME = 400; // ms without movement after which the viewport is saved in the address

/** Keeps all stages at one viewport, and saves it in the address. */
export function useSyncedViews() {
  const engines = useRef<(Engine | null)[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const [lead, setLead] = useState<Engine | null>(null);

  const attach = useCallback((number: number, engine: Engine | null) => {
    engines.current[number] = engine;
    if (number === 0) setLead(engine);
  }, []);

  /** Return the first viewport of a stage: that of the other stage, else that of the address; null for the whole slide. */
  const readStart = useCallback(
    (): Viewport | null => engines.current.find((engine) => engine != null)?.viewport() ?? parseViewport(window.location.hash),
    [],
  );

  const moveOthers = useCallback((number: number, place: Viewport) => {
    engines.current.forEach((engine, other) => {
      if (other !== number) engine?.follow(place);
    });
  }, []);

  const saveInAddress = useCallback((place: Viewport) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      history.replaceState(history.state, '', formatViewport(place)); // not through the router, which would render the page again
    }, REST_TIME);
  }, []);

  useEffect(() => {
    const go = () => {
      const place = parseViewport(window.location.hash);
      if (place !== null) engines.current.find((engine) => engine != null)?.goTo(place);
    };
    window.addEventListener('hashchange', go);
    return () => {
      window.removeEventListener('hashchange', go);
      clearTimeout(timer.current);
    };
  }, []);

  return { lead, attach, readStart, moveOthers, saveInAddress };
}
