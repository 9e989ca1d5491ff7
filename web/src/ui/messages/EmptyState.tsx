import type { ReactNode } from 'react';

/** Explains why a list is empty, and what the user can do. */
export function EmptyState({ title, children, action }: { title: string; children: ReactNode; action?: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-2 rounded-lg border border-dashed border-control bg-raised px-6 py-14 text-center">
      <h2 className="text-base font-semibold">{title}</h2>
      <div className="max-w-prose text-sm text-muted">{children}</div>
      {action && <div className="mt-3">{action}</div>}
    </div>
  );
}
