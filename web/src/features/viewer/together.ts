import { useCallback, useEffect, useRef, useState } from 'react';
import type { Engine } from './engine';
import { type Place, hashOf, placeIn } from './place';

const CALM = 400; // ms at rest after which the address says where one looks

/** Stages that move as one, and the address that says where. */
export function useTogether() {
  const engines = useRef<(Engine | null)[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const [lead, setLead] = useState<Engine | null>(null);

  const hold = useCallback((number: number, engine: Engine | null) => {
    engines.current[number] = engine;
    if (number === 0) setLead(engine);
  }, []);

  /** Where a stage begins: where the other one is, else where the address says; null: all of the slide. */
  const start = useCallback(
    (): Place | null => engines.current.find((engine) => engine != null)?.place() ?? placeIn(window.location.hash),
    [],
  );

  const move = useCallback((number: number, place: Place) => {
    engines.current.forEach((engine, other) => {
      if (other !== number) engine?.follow(place);
    });
  }, []);

  const rest = useCallback((place: Place) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      history.replaceState(history.state, '', hashOf(place)); // not by the router, which would render the page anew
    }, CALM);
  }, []);

  useEffect(() => {
    const go = () => {
      const place = placeIn(window.location.hash);
      if (place !== null) engines.current.find((engine) => engine != null)?.goTo(place);
    };
    window.addEventListener('hashchange', go);
    return () => {
      window.removeEventListener('hashchange', go);
      clearTimeout(timer.current);
    };
  }, []);

  return { lead, hold, start, move, rest };
}
