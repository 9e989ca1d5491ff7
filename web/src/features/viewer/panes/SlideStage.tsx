import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { useApi } from '../../../api/context';
import { ApiProblem } from '../../../api/problem';
import { Problem } from '../../../ui/messages/Problem';
import type { Engine } from '../engine/engine';
import { openEngine } from '../engine/openseadragon_engine';
import type { Frame } from '../geometry';
import { type Layers, paintLayers } from '../overlays/paint_layers';
import type { Viewport } from '../navigation/viewport';
import type { Pyramid } from '../engine/pyramid';
import { ScaleBar } from '../navigation/ScaleBar';

interface Props {
  slideId: string;
  pyramid: Pyramid;
  label: string;
  layers: Layers;
  start: () => Viewport | null; // null: the whole slide
  miniMap: boolean;
  onEngine: (engine: Engine | null) => void;
  onMove: (place: Viewport) => void;
  onRest: (place: Viewport) => void;
  onPoint: (at: { x: number; y: number } | null, by: 'pointer' | 'key') => void; // level-0 px
  onPick: (at: { x: number; y: number } | null) => void; // level-0 px; null: nothing
  children: ReactNode; // shown over the slide
}

const RETRY_INTERVAL = 10_000; // ms after which missing tiles are requested again

/** A slide that the user pans and zooms, with its overlays. */
export function SlideStage({ slideId, pyramid, label, layers, children, ...rest }: Props) {
  const api = useApi();
  const queries = useQueryClient();
  const container = useRef<HTMLDivElement>(null);
  const engineRef = useRef<Engine | null>(null);
  const latest = useRef({ ...rest, layers });
  const pointsAtMiddle = useRef(false); // after Enter, for users without a pointer
  const [scale, setScale] = useState<number | null>(null);
  const [problem, setProblem] = useState<unknown>(null);

  useEffect(() => {
    latest.current = { ...rest, layers };
  });

  const { heatmap, analysed, unreadable, tissue, objects, marked } = layers;
  useEffect(() => {
    engineRef.current?.redraw();
  }, [heatmap, analysed, unreadable, tissue, objects?.objects, objects?.picked, marked?.x, marked?.y]);

  useEffect(() => {
    const element = container.current;
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
        paintLayers(context, frame, latest.current.layers);
      },
      onFrame: (frame) => {
        setScale(frame.scale);
        if (pointsAtMiddle.current) latest.current.onPoint(findMiddle(frame), 'key');
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
        const frame = engineRef.current?.frame();
        if (frame === undefined || (key !== 'Enter' && key !== 'Escape')) return;
        pointsAtMiddle.current = key === 'Enter';
        const at = key === 'Enter' ? findMiddle(frame) : null;
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
        engineRef.current = engine;
        latest.current.onEngine(engine);
      },
      (error: unknown) => {
        setProblem(error);
      },
    );
    return () => {
      isGone = true;
      engineRef.current?.close();
      engineRef.current = null;
      latest.current.onEngine(null);
    };
  }, [api, queries, slideId, pyramid, label]);

  const mayPass = problem instanceof ApiProblem && problem.isTransient;
  useEffect(() => {
    if (!mayPass) return undefined;
    const timer = setInterval(() => engineRef.current?.retry(), RETRY_INTERVAL);
    return () => {
      clearInterval(timer);
    };
  }, [mayPass]);

  const reportPointer = (event: React.PointerEvent<HTMLDivElement>) => {
    const frame = engineRef.current?.frame();
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
      onPointerMoveCapture={reportPointer}
      onPointerDownCapture={reportPointer}
      onPointerLeave={({ pointerType }) => {
        if (pointerType === 'mouse' && !pointsAtMiddle.current) rest.onPoint(null, 'pointer'); // lifting a finger keeps the choice
      }}
    >
      <div ref={container} className="absolute inset-0" />
      {scale !== null && <ScaleBar scale={scale} mpp={pyramid.mpp_x} />}
      {children}
      {problem !== null && (
        <div className="absolute inset-x-3 bottom-14">
          <Problem
            error={problem}
            onRetry={() => {
              setProblem(null);
              engineRef.current?.retry();
            }}
          />
        </div>
      )}
    </div>
  );
}

const findMiddle = ({ left, top, scale, width, height }: Frame) => ({ x: left + width / 2 / scale, y: top + height / 2 / scale });
