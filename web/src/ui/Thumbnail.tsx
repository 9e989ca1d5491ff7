import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useApi } from '../api/context';
import { useSeen } from './in_view';

const SIZES = { small: 'h-12 w-16', large: 'aspect-4/3 w-full' } as const;

interface Props {
  slideId: string;
  version: number | undefined; // of the slide: another image may have been stated since
  exists: boolean; // inspection keeps one of slides that are ready
  size?: keyof typeof SIZES;
}

/**
 * The whole slide in small, its label never; an empty field of the same size until it is there, and where there is
 * none. It stands beside the slide's name, so that it has no text of its own. It is fetched when it comes into view.
 */
export function Thumbnail({ slideId, version, exists, size = 'small' }: Props) {
  const api = useApi();
  const [ref, isSeen] = useSeen();
  const { data } = useQuery({
    queryKey: ['thumbnail', slideId, version],
    queryFn: ({ signal }) =>
      api.image('/slides/{slide_id}/thumbnail', { path: { slide_id: slideId }, query: { v: String(version) }, signal }),
    enabled: exists && version !== undefined && isSeen,
    staleTime: Infinity, // the pixels of one version never change
  });
  const address = useAddress(data);
  return (
    <div ref={ref} className={`flex shrink-0 items-center justify-center overflow-hidden rounded bg-sunken ${SIZES[size]}`}>
      {address && <img src={address} alt="" className="size-full object-contain" />}
    </div>
  );
}

/** Under which an image element finds the bytes: it can not send the credential that fetching them took. */
function useAddress(blob: Blob | undefined): string | null {
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    if (blob === undefined) return undefined;
    const made = URL.createObjectURL(blob);
    // eslint-disable-next-line react-hooks/set-state-in-effect -- made and given back in pairs
    setAddress(made);
    return () => {
      URL.revokeObjectURL(made);
      setAddress(null);
    };
  }, [blob]);
  return address;
}
