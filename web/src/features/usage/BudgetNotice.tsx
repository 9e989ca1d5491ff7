import { formatMoney } from '../../ui/format';
import type { Budget } from './queries';

const WARNED = 0.8; // share of the budget, as in wsi/spending/budgets.py

/** How much of this month's budget is used, and what follows. */
export function BudgetNotice({ budget }: { budget: Budget }) {
  const share = budget.share ?? 1;
  const percent = Math.min(100, Math.floor(share * 100));
  return (
    <section aria-label="Budget" className="mb-4 rounded-lg border border-line bg-raised px-4 py-3 text-sm">
      <p className="font-medium tabular-nums">
        {formatMoney(budget.dollars)} of this month’s budget of {formatMoney(budget.dollars_a_month)} are used
      </p>
      <progress
        aria-label="Budget used"
        max={100}
        value={percent}
        className="mt-2 h-1.5 w-full overflow-hidden rounded-full bg-sunken"
      />
      <p className="mt-1 text-muted">{describeConsequence(share, budget.stops)}</p>
    </section>
  );
}

function describeConsequence(share: number, stops: boolean): string {
  if (share >= 1) return stops ? 'New jobs are refused until next month, or until your operator raises it.' : 'Jobs still start.';
  const then = stops ? 'At 100 % new jobs are refused.' : 'At 100 % jobs still start.';
  return share >= WARNED ? `Your administrators got a mail. ${then}` : `Your administrators get a mail at 80 %. ${then}`;
}
