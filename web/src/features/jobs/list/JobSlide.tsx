import { Link } from 'react-router';
import { useInView } from '../../../ui/use_in_view';
import { Thumbnail } from '../../../ui/Thumbnail';
import { type Job, useSlide } from '../queries';

/** A job's slide. Jobs contain no slide names, so each slide is read once, when its row becomes visible. */
export function JobThumbnail({ slide_id }: Job) {
  const [ref, isSeen] = useInView();
  const slide = useSlide(slide_id, isSeen);
  return (
    <div ref={ref}>
      <Thumbnail slideId={slide_id} version={slide.data?.version} exists={slide.data?.status === 'READY'} />
    </div>
  );
}

export function JobName({ job_id, slide_id, label }: Job) {
  const [ref, isSeen] = useInView();
  const slide = useSlide(slide_id, isSeen);
  const name = slide.data?.name ?? (slide.isError ? 'Deleted slide' : 'Job');
  return (
    <div ref={ref} className="min-w-32">
      <Link to={`/jobs/${job_id}`} className="wrap-anywhere text-accent hover:underline">
        {name}
      </Link>
      {label && <p className="font-normal wrap-anywhere text-muted">{label}</p>}
    </div>
  );
}
