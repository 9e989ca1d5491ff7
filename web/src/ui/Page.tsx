import { type ReactNode, useEffect, useRef } from 'react';
import { useLocation } from 'react-router';

interface Props {
  title: string;
  actions?: ReactNode;
  children: ReactNode;
}

/** The path that was seen last; on the first one after a load the browser begins at the top by itself. */
let shown: string | null = null;

/** A page below the header: its title goes to the tab too, and takes the focus when one came here by a link. */
export function Page({ title, actions, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { pathname } = useLocation();
  useEffect(() => {
    if (shown !== null && shown !== pathname) heading.current?.focus();
    shown = pathname;
  }, [pathname]);
  return (
    <>
      <title>{`${title} – Tessera`}</title>
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
