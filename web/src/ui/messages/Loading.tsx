import { useEffect, useState } from 'react';

const UNNOTICED = 250; // ms of loading that are not shown

/** Reserves the space of content that is loading; visible only if that takes a while. */
export function Loading({ label = 'Loading', className = 'h-40' }: { label?: string; className?: string }) {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => {
      setSlow(true);
    }, UNNOTICED);
    return () => {
      clearTimeout(timer);
    };
  }, []);
  return (
    <div role="status" className={`w-full rounded-lg ${className} ${isSlow ? 'animate-pulse bg-sunken' : ''}`}>
      {isSlow && <span className="sr-only">{label} …</span>}
    </div>
  );
}
