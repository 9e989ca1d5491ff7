import { Link } from 'react-router';
import { useSeen } from '../../ui/in_view';
import { Thumbnail } from '../../ui/Thumbnail';
import { type Job, useSlideOf } from './jobs';

/** Of which slide a job is: jobs hold no names, so that each slide's is asked for once, when its row is seen. */
export function JobPicture({ slide_id }: Job) {
  const [ref, isSeen] = useSeen();
  const slide = useSlideOf(slide_id, isSeen);
  return (
    <div ref={ref}>
      <Thumbnail slideId={slide_id} version={slide.data?.version} exists={slide.data?.status === 'READY'} />
    </div>
  );
}

export function JobName({ job_id, slide_id, label }: Job) {
  const [ref, isSeen] = useSeen();
  const slide = useSlideOf(slide_id, isSeen);
  const name = slide.data?.name ?? (slide.isError ? 'A slide that is gone' : 'Job');
  return (
    <div ref={ref} className="min-w-32">
      <Link to={`/jobs/${job_id}`} className="wrap-anywhere text-accent hover:underline">
        {name}
      </Link>
      {label && <p className="font-normal wrap-anywhere text-muted">{label}</p>}
    </div>
  );
}
