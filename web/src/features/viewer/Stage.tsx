import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { useApi } from '../../api/context';
import { ApiProblem } from '../../api/problem';
import { Problem } from '../../ui/Problem';
import type { Engine } from './engine';
import { openEngine } from './openseadragon_engine';
import { type Frame, type Layers, paint } from './paint';
import type { Place } from './place';
import type { Pyramid } from './pyramid';
import { ScaleBar } from './ScaleBar';

interface Props {
  slideId: string;
  pyramid: Pyramid;
  label: string;
  layers: Layers;
  start: () => Place | null; // null: all of the slide
  miniMap: boolean;
  onEngine: (engine: Engine | null) => void;
  onMove: (place: Place) => void;
  onRest: (place: Place) => void;
  onPoint: (at: { x: number; y: number } | null, by: 'pointer' | 'key') => void; // level-0 px
  onPick: (at: { x: number; y: number } | null) => void; // level-0 px; null: no more
  children: ReactNode; // what lies over the picture
}

const RETRY_PAUSE = 10_000; // ms after which tiles that did not come are asked for again

/** A slide that is panned and zoomed, and what is drawn over it. */
export function Stage({ slideId, pyramid, label, layers, children, ...rest }: Props) {
  const api = useApi();
  const queries = useQueryClient();
  const place = useRef<HTMLDivElement>(null);
  const held = useRef<Engine | null>(null);
  const latest = useRef({ ...rest, layers });
  const pointsAtMiddle = useRef(false); // by Enter, for those without a pointer
  const [scale, setScale] = useState<number | null>(null);
  const [problem, setProblem] = useState<unknown>(null);

  useEffect(() => {
    latest.current = { ...rest, layers };
  });

  const { heatmap, unreadable, tissue, objects, marked } = layers;
  useEffect(() => {
    held.current?.redraw();
  }, [heatmap, unreadable, tissue, objects?.objects, objects?.picked, marked?.x, marked?.y]);

  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    let isGone = false;
    const opened = openEngine(element, {
      pyramid,
      label,
      start: latest.current.start(),
      miniMap: latest.current.miniMap,
      tile: (level, x, y, signal) =>
        api.image('/slides/{slide_id}/tiles/{level}/{x}_{y}.jpeg', {
          path: { slide_id: slideId, level, x, y },
          query: { v: pyramid.etag },
          signal,
        }),
      paint: (context, frame) => {
        paint(context, frame, latest.current.layers);
      },
      onFrame: (frame) => {
        setScale(frame.scale);
        if (pointsAtMiddle.current) latest.current.onPoint(middleOf(frame), 'key');
      },
      onMove: (to) => {
        latest.current.onMove(to);
      },
      onRest: (at) => {
        latest.current.onRest(at);
      },
      onPick: (at) => {
        latest.current.onPick(at);
      },
      onKey: (key) => {
        const frame = held.current?.frame();
        if (frame === undefined || (key !== 'Enter' && key !== 'Escape')) return;
        pointsAtMiddle.current = key === 'Enter';
        const at = key === 'Enter' ? middleOf(frame) : null;
        latest.current.onPoint(at, 'key');
        latest.current.onPick(at);
      },
      onProblem: (error) => {
        setProblem(error);
        if (error === null) return;
        const isOld = error instanceof ApiProblem && error.code === 'source_changed';
        if (isOld) void queries.invalidateQueries({ queryKey: ['pyramid', slideId] });
      },
    });
    opened.then(
      (engine) => {
        if (isGone) {
          engine.close();
          return;
        }
        held.current = engine;
        latest.current.onEngine(engine);
      },
      (error: unknown) => {
        setProblem(error);
      },
    );
    return () => {
      isGone = true;
      held.current?.close();
      held.current = null;
      latest.current.onEngine(null);
    };
  }, [api, queries, slideId, pyramid, label]);

  const mayPass = problem instanceof ApiProblem && problem.isPassing;
  useEffect(() => {
    if (!mayPass) return undefined;
    const timer = setInterval(() => held.current?.retry(), RETRY_PAUSE);
    return () => {
      clearInterval(timer);
    };
  }, [mayPass]);

  const point = (event: React.PointerEvent<HTMLDivElement>) => {
    const frame = held.current?.frame();
    const corner = event.currentTarget.getBoundingClientRect();
    if (frame === undefined) return;
    pointsAtMiddle.current = false;
    const at = {
      x: frame.left + (event.clientX - corner.left) / frame.scale,
      y: frame.top + (event.clientY - corner.top) / frame.scale,
    };
    rest.onPoint(at, 'pointer');
  };

  return (
    <div
      className="relative min-w-0 grow overflow-hidden rounded-lg border border-line bg-sunken"
      onPointerMoveCapture={point}
      onPointerDownCapture={point}
      onPointerLeave={({ pointerType }) => {
        if (pointerType === 'mouse' && !pointsAtMiddle.current) rest.onPoint(null, 'pointer'); // a finger that was lifted has chosen
      }}
    >
      <div ref={place} className="absolute inset-0" />
      {scale !== null && <ScaleBar scale={scale} mpp={pyramid.mpp_x} />}
      {children}
      {problem !== null && (
        <div className="absolute inset-x-3 bottom-14">
          <Problem
            error={problem}
            onRetry={() => {
              setProblem(null);
              held.current?.retry();
            }}
          />
        </div>
      )}
    </div>
  );
}

const middleOf = ({ left, top, scale, width, height }: Frame) => ({ x: left + width / 2 / scale, y: top + height / 2 / scale });
