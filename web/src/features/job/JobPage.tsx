import { useParams } from 'react-router';
import { useJob } from '../../api/live/use_job';
import { Loading } from '../../ui/Loading';
import { Page } from '../../ui/Page';
import { Problem } from '../../ui/Problem';
import { Actions } from './Actions';
import { Announcement } from './Announcement';
import { Facts, useSlideOf } from './Facts';
import { Failure } from './Failure';
import { countsOf, type JobEvent, useHistory } from './history';
import { Log } from './Log';
import { usePace } from './pace';
import { Progress } from './Progress';
import { Results } from './Results';
import { isSuccess } from './stages';

export default function JobPage() {
  const { jobId = '' } = useParams();
  return <OneJob key={jobId} jobId={jobId} />;
}

function OneJob({ jobId }: { jobId: string }) {
  const { job, error, at, link, again } = useJob(jobId);
  const pace = usePace(job, at);
  const slide = useSlideOf(job);
  const history = useHistory(job, at);
  const events = history.events ?? [];
  const { begunAgain, done } = countsOf(events);
  const name = job && `${job.model} on ${slide.data?.name ?? 'a slide'}`;
  return (
    <Page title={name ?? 'Job'} actions={job && <Actions job={job} />}>
      <Announcement job={job} left={pace.left} at={at} />
      {error && (
        <div className="mb-5">
          <Problem error={error} onRetry={again} />
        </div>
      )}
      {job === undefined && error === null && <Loading label="Loading the job" className="h-[32rem]" />}
      {job && (
        <div className="grid items-start gap-5 lg:grid-cols-[1fr_20rem]">
          <div className="flex min-w-0 flex-col gap-5">
            {job.status === 'FAILED' && <Failure job={job} />}
            <Progress
              job={job}
              link={link}
              pace={pace}
              partsDone={Math.max(job.shards_total - job.shards_remaining, done)}
            />
            {isSuccess(job) && <Results job={job} />}
          </div>
          <div className="flex min-w-0 flex-col gap-5">
            <Facts job={job} begunAgain={begunAgain} retriedBy={retriedBy(events)} />
            {history.error ? <Problem error={history.error} onRetry={() => void history.again()} /> : <Log events={events} />}
          </div>
        </div>
      )}
    </Page>
  );
}

function retriedBy(events: readonly JobEvent[]): string | null {
  const by = events.findLast(({ kind }) => kind === 'retried')?.detail['by'];
  return typeof by === 'string' ? by : null;
}
