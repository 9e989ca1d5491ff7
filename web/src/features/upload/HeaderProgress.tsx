import { Link } from 'react-router';
import { useUploadsView } from './context';

/** In the header while something moves, so that one sees it on every page. */
export function HeaderProgress() {
  const { isGoing, isSending, total } = useUploadsView();
  if (!isGoing) return null;
  const percent = total.size === 0 ? 0 : Math.floor((total.arrived / total.size) * 100);
  const text = isSending ? `Uploading ${percent} %` : 'Inspecting';
  return (
    <Link to="/upload" className="flex w-32 flex-col gap-1 rounded-md px-2 py-1 text-xs text-muted hover:bg-sunken hover:text-ink">
      <span className="tabular-nums">{text}</span>
      <progress
        aria-hidden="true" // the words beside say it
        max={100}
        value={percent}
        className="h-1 w-full overflow-hidden rounded-full bg-sunken"
      />
    </Link>
  );
}
