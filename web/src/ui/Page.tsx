import { type ReactNode, useEffect, useRef } from 'react';
import { useLocation } from 'react-router';

interface Props {
  title: string;
  /** What the tab is called, where that is not the title: browsers keep the names of tabs in their history. */
  tab?: string;
  actions?: ReactNode;
  children: ReactNode;
}

/** The path of the last page; null after a load, when the browser itself starts at the top. */
let lastPath: string | null = null;

/** A page below the header. Its title takes the focus after the user followed a link. */
export function Page({ title, tab = title, actions, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { pathname } = useLocation();
  useEffect(() => {
    if (lastPath !== null && lastPath !== pathname) heading.current?.focus();
    lastPath = pathname;
  }, [pathname]);
  return (
    <>
      <title>{`${tab} – Tessera`}</title>
      <div className="mb-5 flex flex-wrap items-center justify-between gap-3">
        <h1 ref={heading} tabIndex={-1} className="min-w-0 text-xl font-semibold wrap-anywhere">
          {title}
        </h1>
        {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
      </div>
      {children}
    </>
  );
}
