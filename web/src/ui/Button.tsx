import type { ComponentProps, ReactNode } from 'react';
import { Link, type LinkProps } from 'react-router';

type Look = 'primary' | 'secondary' | 'danger' | 'quiet';

const SHAPE =
  'inline-flex min-h-9 items-center justify-center gap-2 rounded-md px-3.5 py-1.5 text-sm font-medium whitespace-nowrap ' +
  'aria-disabled:cursor-not-allowed aria-disabled:opacity-60 disabled:cursor-not-allowed disabled:opacity-60';

const LOOKS: Record<Look, string> = {
  primary: 'bg-accent text-on-accent hover:bg-accent-strong',
  secondary: 'border border-control bg-raised text-ink hover:bg-sunken',
  danger: 'border border-bad bg-raised text-bad hover:bg-bad-soft',
  quiet: 'text-accent hover:bg-sunken hover:text-accent-strong',
};

type ButtonProps = ComponentProps<'button'> & {
  look?: Look;
  /** The action that it started is running: the button keeps the focus and does nothing. */
  busy?: boolean;
  children: ReactNode;
};

export function Button({ look = 'secondary', busy = false, className = '', onClick, type, ...rest }: ButtonProps) {
  return (
    <button
      {...rest}
      type={type ?? 'button'}
      className={`${SHAPE} ${LOOKS[look]} ${className}`}
      aria-busy={busy || undefined}
      aria-disabled={busy || undefined}
      onClick={(event) => {
        if (busy) event.preventDefault();
        else onClick?.(event);
      }}
    />
  );
}

type ButtonLinkProps = Omit<LinkProps, 'className'> & { look?: Look; className?: string; children: ReactNode };

/** A link that looks like a button. */
export function ButtonLink({ look = 'secondary', className = '', ...rest }: ButtonLinkProps) {
  return <Link {...rest} className={`${SHAPE} ${LOOKS[look]} ${className}`} />;
}
