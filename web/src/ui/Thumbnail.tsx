import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useApi } from '../api/context';
import { useInView } from './use_in_view';

const SIZES = { small: 'h-12 w-16', large: 'aspect-4/3 w-full' } as const;

interface Props {
  slideId: string;
  version: number | undefined; // of the slide: the user may state another image
  exists: boolean; // ready slides have one
  size?: keyof typeof SIZES;
}

/**
 * A small image of the whole slide, without its label; an empty box of the same size while it loads, and if there is
 * none. The slide's name is next to it, so it has no alternative text. It is fetched when it becomes visible.
 */
export function Thumbnail({ slideId, version, exists, size = 'small' }: Props) {
  const api = useApi();
  const [ref, isSeen] = useInView();
  const { data } = useQuery({
    queryKey: ['thumbnail', slideId, version],
    queryFn: ({ signal }) =>
      api.image('/slides/{slide_id}/thumbnail', { path: { slide_id: slideId }, query: { v: String(version) }, signal }),
    enabled: exists && version !== undefined && isSeen,
    staleTime: Infinity, // the pixels of one version never change
  });
  const address = useObjectUrl(data);
  return (
    <div ref={ref} className={`flex shrink-0 items-center justify-center overflow-hidden rounded bg-sunken ${SIZES[size]}`}>
      {address && <img src={address} alt="" className="size-full object-contain" />}
    </div>
  );
}

/** Returns an object URL for the image: an image element itself cannot send credentials. */
function useObjectUrl(blob: Blob | undefined): string | null {
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    if (blob === undefined) return undefined;
    const made = URL.createObjectURL(blob);
    // eslint-disable-next-line react-hooks/set-state-in-effect -- each URL is revoked again
    setAddress(made);
    return () => {
      URL.revokeObjectURL(made);
      setAddress(null);
    };
  }, [blob]);
  return address;
}
