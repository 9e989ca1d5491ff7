import type { Job } from '../../api/live/job_update';
import { inWordsOfThePage } from '../../ui/fields';
import { adviceFor } from './advice';

/** Why the job failed, in the API's sentence, and what one can do. */
export function Failure({ job }: { job: Job }) {
  return (
    <section aria-labelledby="failure" className="rounded-lg bg-bad-soft p-5 text-sm text-bad">
      <h2 id="failure" className="text-base font-semibold">
        The job failed
      </h2>
      <p className="mt-2">{job.sentence === null ? 'Why is being looked up …' : inWordsOfThePage(job.sentence)}</p>
      <p className="mt-2">{adviceFor(job.reason)}</p>
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
