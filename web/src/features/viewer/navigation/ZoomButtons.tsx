import { Button } from '../../../ui/Button';
import type { Engine } from '../engine/engine';

const ZOOM_STEP = 2; // factor per click

const ICONS = {
  in: 'M10 4v12M4 10h12',
  out: 'M4 10h12',
  whole: 'M3 8V3h5M12 3h5v5M17 12v5h-5M8 17H3v-5',
  full: 'M3 3l5 5M17 3l-5 5M17 17l-5-5M3 17l5-5M3 7V3h4M13 3h4v4M17 13v4h-4M7 17H3v-4',
} as const;

interface Props {
  engine: Engine | null;
  onFullScreen: (() => void) | null; // null: this browser has no full-screen mode
}

export function ZoomButtons({ engine, onFullScreen }: Props) {
  return (
    <div className="absolute top-3 left-3 flex flex-col gap-1.5">
      <IconButton sign="in" label="Zoom in" onClick={() => engine?.zoomBy(ZOOM_STEP)} />
      <IconButton sign="out" label="Zoom out" onClick={() => engine?.zoomBy(1 / ZOOM_STEP)} />
      <IconButton sign="whole" label="Whole slide" onClick={() => engine?.home()} />
      {onFullScreen && <IconButton sign="full" label="Full screen" onClick={onFullScreen} />}
    </div>
  );
}

function IconButton({ sign, label, onClick }: { sign: keyof typeof ICONS; label: string; onClick: () => void }) {
  return (
    <Button aria-label={label} title={label} onClick={onClick} className="size-9 px-0!">
      <svg viewBox="0 0 20 20" className="size-5 fill-none stroke-current stroke-2" aria-hidden="true">
        <path d={ICONS[sign]} />
      </svg>
    </Button>
  );
}
