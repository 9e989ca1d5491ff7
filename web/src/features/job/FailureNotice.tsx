import type { Job } from '../../api/live/job_update';
import { withFieldLabels } from '../../ui/fields/field_labels';
import { adviseOn } from './failure_advice';

/** Why the job failed, in the API's words, and what the user can do. */
export function FailureNotice({ job }: { job: Job }) {
  return (
    <section aria-labelledby="failure" className="rounded-lg bg-bad-soft p-5 text-sm text-bad">
      <h2 id="failure" className="text-base font-semibold">
        The job failed
      </h2>
      <p className="mt-2">{job.sentence === null ? 'Loading the reason …' : withFieldLabels(job.sentence)}</p>
      <p className="mt-2">{adviseOn(job.reason)}</p>
      <p className="mt-3 text-xs">
        {job.reason && (
          <>
            Code <code className="font-mono">{job.reason}</code>.{' '}
          </>
        )}
        When you ask for help, quote <code className="font-mono break-all">{job.traceparent}</code>.
      </p>
    </section>
  );
}
