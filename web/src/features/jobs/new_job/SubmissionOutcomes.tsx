import { useEffect, useRef } from 'react';
import { Link } from 'react-router';
import { messageOf } from '../../../api/problem';
import { Badge } from '../../../ui/Badge';
import { Button, ButtonLink } from '../../../ui/Button';
import type { Slide } from '../queries';
import { type Submitted, type SubmissionOutcome, isRefused, isStarted } from './submission';

interface Props {
  outcomes: readonly SubmissionOutcome[];
  slides: readonly Slide[];
  isBusy: boolean;
  onTryAgain: () => void;
}

/** The outcome for each slide, after some of several jobs were refused. */
function describeOutcome(job: Submitted): string {
  if (job.reused) return 'Already finished';
  return job.shared ? 'Already under way' : 'Started';
}

export function SubmissionOutcomes({ outcomes, slides, isBusy, onTryAgain }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.focus(); // the button that had the focus is gone
  }, []);
  const refused = outcomes.filter(isRefused);
  const nameOf = (id: string) => slides.find(({ slide_id }) => slide_id === id)?.name ?? 'Slide';
  return (
    <section aria-labelledby="outcomes">
      <h2 ref={heading} id="outcomes" tabIndex={-1} className="mb-3 text-base font-semibold focus-visible:outline-none">
        {refused.length === outcomes.length
          ? 'No job was started'
          : `${refused.length} of ${outcomes.length} slides ${refused.length === 1 ? 'was' : 'were'} refused; the other jobs continue`}
      </h2>
      <ul className="divide-y divide-line rounded-lg border border-line bg-raised">
        {outcomes.map((outcome) => (
          <li key={outcome.slideId} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-3 text-sm">
            <span className="w-64 font-medium wrap-anywhere">{nameOf(outcome.slideId)}</span>
            {isStarted(outcome) ? (
              <>
                <Badge tone="good">{describeOutcome(outcome.job)}</Badge>
                <Link to={`/jobs/${outcome.job.job_id}`} className="text-accent hover:underline">
                  {outcome.job.reused ? 'See its result' : 'Watch it'}
                  <span className="sr-only">: {nameOf(outcome.slideId)}</span>
                </Link>
              </>
            ) : (
              <>
                <Badge tone="bad">Not started</Badge>
                <span>{messageOf(outcome.error)}</span>
              </>
            )}
          </li>
        ))}
      </ul>
      <div className="mt-4 flex flex-wrap gap-2">
        <ButtonLink look="primary" to="/jobs">
          Go to the jobs
        </ButtonLink>
        <Button busy={isBusy} onClick={onTryAgain}>
          Try {refused.length === 1 ? 'the refused slide' : `the ${refused.length} refused slides`} again
        </Button>
      </div>
    </section>
  );
}
