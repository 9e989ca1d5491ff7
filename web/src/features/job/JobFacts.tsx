import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { useApi } from '../../api/context';
import type { Job } from '../../api/live/job_update';
import { formatDuration, formatMoment, formatMoney, formatNumber } from '../../ui/format';
import { Thumbnail } from '../../ui/Thumbnail';

const LINK_LOOK = 'text-accent underline underline-offset-2 hover:text-accent-strong';

export function useJobSlide(job: Job | undefined) {
  const api = useApi();
  const slideId = job?.slide_id ?? '';
  return useQuery({
    queryKey: ['slide', slideId],
    queryFn: ({ signal }) => api.get('/slides/{slide_id}', { path: { slide_id: slideId }, signal }),
    enabled: job !== undefined,
    staleTime: 60_000,
  });
}

interface Props {
  job: Job;
  restarted: number; // parts
  retriedBy: string | null; // the job that retries this one
}

/** What was requested, for which slide, and when. */
export function JobFacts({ job, restarted, retriedBy }: Props) {
  const { data: slide } = useJobSlide(job);
  const { mpp, region, outline, fast, allow_upsampling, choice } = job.options;
  return (
    <section aria-labelledby="facts" className="rounded-lg border border-line bg-raised p-5 text-sm">
      <h2 id="facts" className="text-base font-semibold">
        Job details
      </h2>
      <div className="mt-4 flex items-center gap-3">
        <div className="shrink-0">
          <Thumbnail slideId={job.slide_id} version={slide?.version} exists={slide?.status === 'READY'} />
        </div>
        <Link to={`/slides/${job.slide_id}`} className={`min-w-0 font-medium break-words ${LINK_LOOK}`}>
          {slide?.name ?? 'The slide'}
        </Link>
      </div>
      <dl className="mt-4 grid grid-cols-[7rem_1fr] gap-y-2">
        <Fact name="Model">
          {job.model} {job.model_version}
          {!job.model_digest.startsWith(job.model_version) && (
            <code title="The model’s digest" className="block font-mono text-xs text-muted">
              {job.model_digest.slice(0, 12)}
            </code>
          )}
        </Fact>
        <Fact name="Requested">
          <time dateTime={job.created_at}>{formatMoment(job.created_at)}</time>
          {job.created_by !== null && <span className="block break-words">by {job.created_by}</span>}
        </Fact>
        {job.finished_at && (
          <Fact name="Ended">
            <time dateTime={job.finished_at}>{formatMoment(job.finished_at)}</time>
          </Fact>
        )}
        {job.dollars !== null && job.worker_seconds > 0 && (
          <Fact name="Cost">
            {formatMoney(job.dollars)}
            <span className="block text-muted">{formatComputing(job.worker_seconds)} of one machine</span>
          </Fact>
        )}
        <Fact name="Priority">{job.priority}</Fact>
        {job.label && <Fact name="Label">{job.label}</Fact>}
        {(Boolean(region) || Boolean(outline)) && <Fact name="Region">{outline ? 'as drawn' : 'a rectangle'}</Fact>}
        {typeof mpp === 'number' && <Fact name="Stated scale">{formatNumber(mpp, 4)} µm per pixel</Fact>}
        {describeChoice(choice) && <Fact name="Image">{describeChoice(choice)}</Fact>}
        {fast === true && <Fact name="Decoding">fast, values differ slightly</Fact>}
        {allow_upsampling === true && <Fact name="Upsampling">allowed</Fact>}
        {restarted > 0 && (
          <Fact name="Restarted">
            {formatNumber(restarted)} {restarted === 1 ? 'part' : 'parts'}
          </Fact>
        )}
        {job.notify.email && <Fact name="E-mail to">{job.notify.email}</Fact>}
        {job.notify.webhook && (
          <Fact name="Webhook">
            <span className="break-all">{job.notify.webhook}</span>
          </Fact>
        )}
        {job.retry_of && (
          <Fact name="Retry of">
            <Link to={`/jobs/${job.retry_of}`} className={LINK_LOOK}>
              an earlier job
            </Link>
          </Fact>
        )}
        {retriedBy && (
          <Fact name="Retried">
            <Link to={`/jobs/${retriedBy}`} className={LINK_LOOK}>
              by a later job
            </Link>
          </Fact>
        )}
      </dl>
    </section>
  );
}

/** Describe the image that was chosen of a slide with several: "optical path 2, image 3". */
function describeChoice(choice: unknown): string {
  const fields = [
    ['optical_path', 'optical path'],
    ['focal_plane', 'focal plane'],
    ['picture', 'image'],
  ] as const;
  const value = (field: string) => (choice as Record<string, string | number | null> | null | undefined)?.[field] ?? null;
  return fields.flatMap(([field, name]) => (value(field) === null ? [] : [`${name} ${String(value(field))}`])).join(', ');
}

const formatComputing = (seconds: number) => (seconds < 1 ? 'less than a second' : formatDuration(seconds));

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd className="min-w-0 wrap-anywhere">{children}</dd>
    </>
  );
}
