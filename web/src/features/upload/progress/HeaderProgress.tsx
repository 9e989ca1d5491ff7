import { Link } from 'react-router';
import { useUploadsView } from '../context';

const BAR = 'overflow-hidden bg-sunken';

/** The progress of uploads in the header of every page; on a tablet, as a line above the header. */
export function HeaderProgress() {
  const { isActive, isSending, total } = useUploadsView();
  if (!isActive) return null;
  const percent = total.size === 0 ? 0 : Math.floor((total.arrived / total.size) * 100);
  const text = isSending ? `Uploading ${percent} %` : 'Inspecting';
  return (
    <>
      <Link
        to="/upload"
        className="flex w-32 flex-col gap-1 rounded-md px-2 py-1 text-xs text-muted hover:bg-sunken hover:text-ink max-lg:hidden"
      >
        <span className="tabular-nums">{text}</span>
        {/* The text above says it. */}
        <progress aria-hidden="true" max={100} value={percent} className={`h-1 w-full rounded-full ${BAR}`} />
      </Link>
      <progress aria-label={text} max={100} value={percent} className={`absolute inset-x-0 top-0 h-1 w-full lg:hidden ${BAR}`} />
    </>
  );
}
