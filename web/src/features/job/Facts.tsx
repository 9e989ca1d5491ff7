import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { useApi } from '../../api/context';
import type { Job } from '../../api/live/job_update';
import { duration, moment, money, number } from '../../ui/format';
import { Thumbnail } from '../../ui/Thumbnail';

const LINK = 'text-accent underline underline-offset-2 hover:text-accent-strong';

export function useSlideOf(job: Job | undefined) {
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
  begunAgain: number; // parts
  retriedBy: string | null; // the job that tries this one again
}

/** What was asked for, on what, when. */
export function Facts({ job, begunAgain, retriedBy }: Props) {
  const { data: slide } = useSlideOf(job);
  const { mpp, region, outline, fast, allow_upsampling, choice } = job.options;
  return (
    <section aria-labelledby="facts" className="rounded-lg border border-line bg-raised p-5 text-sm">
      <h2 id="facts" className="text-base font-semibold">
        What was asked for
      </h2>
      <div className="mt-4 flex items-center gap-3">
        <div className="shrink-0">
          <Thumbnail slideId={job.slide_id} version={slide?.version} exists={slide?.status === 'READY'} />
        </div>
        <Link to={`/slides/${job.slide_id}`} className={`min-w-0 font-medium break-words ${LINK}`}>
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
        <Fact name="Asked for">
          <time dateTime={job.created_at}>{moment(job.created_at)}</time>
          {job.created_by !== null && <span className="block break-words">by {job.created_by}</span>}
        </Fact>
        {job.finished_at && (
          <Fact name="Ended">
            <time dateTime={job.finished_at}>{moment(job.finished_at)}</time>
          </Fact>
        )}
        {job.dollars !== null && job.worker_seconds > 0 && (
          <Fact name="Cost">
            {money(job.dollars)}
            <span className="block text-muted">{computing(job.worker_seconds)} of one machine</span>
          </Fact>
        )}
        <Fact name="Priority">{job.priority}</Fact>
        {job.label && <Fact name="Label">{job.label}</Fact>}
        {(Boolean(region) || Boolean(outline)) && <Fact name="Region">{outline ? 'as drawn' : 'a rectangle'}</Fact>}
        {typeof mpp === 'number' && <Fact name="Stated scale">{number(mpp, 4)} µm a pixel</Fact>}
        {image(choice) && <Fact name="Image">{image(choice)}</Fact>}
        {fast === true && <Fact name="Decoding">fast, values differ a little</Fact>}
        {allow_upsampling === true && <Fact name="Coarser slide">is enlarged</Fact>}
        {begunAgain > 0 && (
          <Fact name="Begun again">
            {number(begunAgain)} {begunAgain === 1 ? 'part' : 'parts'}
          </Fact>
        )}
        {job.notify.email && <Fact name="Mail to">{job.notify.email}</Fact>}
        {job.notify.webhook && (
          <Fact name="Webhook">
            <span className="break-all">{job.notify.webhook}</span>
          </Fact>
        )}
        {job.retry_of && (
          <Fact name="Tries again">
            <Link to={`/jobs/${job.retry_of}`} className={LINK}>
              the job before
            </Link>
          </Fact>
        )}
        {retriedBy && (
          <Fact name="Tried again">
            <Link to={`/jobs/${retriedBy}`} className={LINK}>
              by the job after
            </Link>
          </Fact>
        )}
      </dl>
    </section>
  );
}

/** "optical path 2, image 3": what was chosen of a slide that holds several. */
function image(choice: unknown): string {
  const fields = [
    ['optical_path', 'optical path'],
    ['focal_plane', 'focal plane'],
    ['picture', 'image'],
  ] as const;
  const value = (field: string) => (choice as Record<string, string | number | null> | null | undefined)?.[field] ?? null;
  return fields.flatMap(([field, name]) => (value(field) === null ? [] : [`${name} ${String(value(field))}`])).join(', ');
}

const computing = (seconds: number) => (seconds < 1 ? 'less than a second' : duration(seconds));

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd className="min-w-0 wrap-anywhere">{children}</dd>
    </>
  );
}
