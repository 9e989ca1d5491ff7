import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useNavigate } from 'react-router';
import { useApi } from '../../api/context';
import { type Job, isFinal, withSnapshot } from '../../api/live/job_update';
import { sentenceOf } from '../../api/problem';
import { useMay } from '../../session/roles';
import { Button, ButtonLink } from '../../ui/Button';
import { Dialog } from '../../ui/Dialog';
import { useToasts } from '../../ui/toast_context';
import { isSuccess } from './stages';

/** What can be done with the job now, by whoever looks. */
export function Actions({ job }: { job: Job }) {
  const may = useMay('analyst');
  const canView = job.status === 'RUNNING' || job.status === 'STITCHING' || isSuccess(job);
  return (
    <>
      {may && !isFinal(job) && <Cancel job={job} />}
      {may && (job.status === 'FAILED' || job.status === 'CANCELLED') && <Retry job={job} />}
      {canView && (
        <ButtonLink look={isFinal(job) ? 'primary' : 'secondary'} to={`/view/${job.slide_id}?job=${job.job_id}`}>
          Look at it on the slide
        </ButtonLink>
      )}
    </>
  );
}

function Cancel({ job }: { job: Job }) {
  const api = useApi();
  const queries = useQueryClient();
  const toasts = useToasts();
  const [isAsking, setAsking] = useState(false);
  const isPressed = useRef(false);
  useEffect(
    () => () => {
      // The button goes with the job's end, and takes the focus with it.
      if (isPressed.current && document.activeElement === document.body) document.querySelector('h1')?.focus();
    },
    [],
  );
  const close = () => {
    setAsking(false);
  };
  const cancelling = useMutation({
    mutationFn: () => api.post('/jobs/{job_id}/cancel', { path: { job_id: job.job_id } }),
    onSuccess: (cancelled) => {
      queries.setQueryData<Job>(['job', job.job_id], (known) => withSnapshot(known, cancelled));
      toasts.done('The job was cancelled.');
    },
    onError: (error) => {
      toasts.failed(sentenceOf(error));
    },
    onSettled: () => {
      close();
      void queries.invalidateQueries({ queryKey: ['jobs'] });
    },
  });
  return (
    <>
      <Button
        look="danger"
        onClick={() => {
          setAsking(true);
        }}
      >
        Cancel the job
      </Button>
      <Dialog
        title="Cancel this job?"
        open={isAsking}
        onClose={close}
        actions={
          <>
            <Button onClick={close}>Let it go on</Button>
            <Button
              look="danger"
              busy={cancelling.isPending}
              onClick={() => {
                isPressed.current = true;
                cancelling.mutate();
              }}
            >
              Cancel the job
            </Button>
          </>
        }
      >
        It stops, and has no results. If it is tried again within two weeks, the parts that are done are kept.
      </Dialog>
    </>
  );
}

function Retry({ job }: { job: Job }) {
  const api = useApi();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const toasts = useToasts();
  const [idempotencyKey] = useState(() => crypto.randomUUID()); // one job, however often it is pressed
  const retrying = useMutation({
    mutationFn: () => api.post('/jobs/{job_id}/retry', { path: { job_id: job.job_id }, idempotencyKey }),
    onSuccess: async ({ job_id }) => {
      toasts.done('The job is tried again; this is the new one.');
      await queries.invalidateQueries({ queryKey: ['jobs'] });
      await navigate(`/jobs/${job_id}`);
    },
    onError: (error) => {
      toasts.failed(sentenceOf(error));
    },
  });
  return (
    <Button
      look="primary"
      busy={retrying.isPending}
      onClick={() => {
        retrying.mutate();
      }}
    >
      Try again
    </Button>
  );
}
