import { useParams } from 'react-router';
import { useJob } from '../../api/live/use_job';
import { Loading } from '../../ui/messages/Loading';
import { Page } from '../../ui/Page';
import { Problem } from '../../ui/messages/Problem';
import { JobActions } from './JobActions';
import { ProgressAnnouncement } from './progress/ProgressAnnouncement';
import { JobFacts, useJobSlide } from './JobFacts';
import { FailureNotice } from './FailureNotice';
import { countParts, type JobEvent, useEvents } from './events/use_events';
import { EventLog } from './events/EventLog';
import { useSpeed } from './progress/use_speed';
import { JobProgress } from './progress/JobProgress';
import { JobResults } from './results/JobResults';
import { isSuccess } from './progress/stages';

export default function JobPage() {
  const { jobId = '' } = useParams();
  return <JobDetails key={jobId} jobId={jobId} />;
}

function JobDetails({ jobId }: { jobId: string }) {
  const { job, error, at, link, restart } = useJob(jobId);
  const pace = useSpeed(job, at);
  const slide = useJobSlide(job);
  const history = useEvents(job, at);
  const events = history.events ?? [];
  const { restarted, done } = countParts(events);
  const name = job && `${job.model} on ${slide.data?.name ?? 'a slide'}`;
  return (
    <Page title={name ?? 'Job'} tab={job ? `Job of ${job.model}` : 'Job'} actions={job && <JobActions job={job} />}>
      <ProgressAnnouncement job={job} left={pace.left} at={at} />
      {error && (
        <div className="mb-5">
          <Problem error={error} onRetry={restart} />
        </div>
      )}
      {job === undefined && error === null && <Loading label="Loading the job" className="h-[32rem]" />}
      {job && (
        <div className="grid items-start gap-5 lg:grid-cols-[1fr_20rem]">
          <div className="flex min-w-0 flex-col gap-5">
            {job.status === 'FAILED' && <FailureNotice job={job} />}
            <JobProgress
              job={job}
              link={link}
              pace={pace}
              at={at}
              partsDone={Math.max(job.shards_total - job.shards_remaining, done)}
            />
            {isSuccess(job) && <JobResults job={job} />}
          </div>
          <div className="flex min-w-0 flex-col gap-5">
            <JobFacts job={job} restarted={restarted} retriedBy={findRetry(events)} />
            {history.error ? <Problem error={history.error} onRetry={() => void history.again()} /> : <EventLog events={events} />}
          </div>
        </div>
      )}
    </Page>
  );
}

function findRetry(events: readonly JobEvent[]): string | null {
  const by = events.findLast(({ kind }) => kind === 'retried')?.detail['by'];
  return typeof by === 'string' ? by : null;
}
