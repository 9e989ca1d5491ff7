import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useNavigate } from 'react-router';
import { useApi } from '../../api/context';
import { type Job, isFinal, mergeSnapshot } from '../../api/live/job_update';
import { messageOf } from '../../api/problem';
import { useHasRole } from '../../session/roles';
import { Button, ButtonLink } from '../../ui/Button';
import { Dialog } from '../../ui/Dialog';
import { Problem } from '../../ui/messages/Problem';
import { useToasts } from '../../ui/messages/toast_context';
import { isSuccess } from './progress/stages';

/** What this user can do with the job in its present state. */
export function JobActions({ job }: { job: Job }) {
  const may = useHasRole('analyst');
  const canView = job.status === 'RUNNING' || job.status === 'STITCHING' || isSuccess(job);
  return (
    <>
      {may && !isFinal(job) && <CancelButton job={job} />}
      {may && (job.status === 'FAILED' || job.status === 'CANCELLED') && <RetryButton job={job} />}
      {may && isFinal(job) && <DeleteButton job={job} />}
      {canView && (
        <ButtonLink look={isFinal(job) ? 'primary' : 'secondary'} to={`/view/${job.slide_id}?job=${job.job_id}`}>
          View it on the slide
        </ButtonLink>
      )}
    </>
  );
}

function CancelButton({ job }: { job: Job }) {
  const api = useApi();
  const queries = useQueryClient();
  const toasts = useToasts();
  const [isAsking, setAsking] = useState(false);
  const isPressed = useRef(false);
  useEffect(
    () => () => {
      // The button disappears when the job ends, and would take the focus with it.
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
      queries.setQueryData<Job>(['job', job.job_id], (known) => mergeSnapshot(known, cancelled));
      toasts.showSuccess('The job was cancelled.');
    },
    onError: (error) => {
      toasts.showError(messageOf(error));
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
            <Button onClick={close}>Keep it running</Button>
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
        The job stops without results. If you try it again within two weeks, it keeps the finished parts.
      </Dialog>
    </>
  );
}

function DeleteButton({ job }: { job: Job }) {
  const api = useApi();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const toasts = useToasts();
  const [isAsking, setAsking] = useState(false);
  const close = () => {
    setAsking(false);
  };
  const deleting = useMutation({
    mutationFn: () => api.delete('/jobs/{job_id}', { path: { job_id: job.job_id } }),
    onSuccess: async () => {
      close();
      toasts.showSuccess('The job was deleted.');
      await navigate('/jobs'); // before its query is removed: the page would read it again
      queries.removeQueries({ queryKey: ['job', job.job_id] });
      await queries.invalidateQueries({ queryKey: ['jobs'] });
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
        Delete
      </Button>
      <Dialog
        title="Delete this job?"
        open={isAsking}
        onClose={close}
        actions={
          <>
            <Button onClick={close}>Keep it as it is</Button>
            <Button
              look="danger"
              busy={deleting.isPending}
              onClick={() => {
                deleting.mutate();
              }}
            >
              Delete
            </Button>
          </>
        }
      >
        Its results are deleted permanently, with its label and all that was stored for it. The slide stays. This cannot be
        undone.
        {deleting.isError && (
          <div className="mt-3">
            <Problem error={deleting.error} />
          </div>
        )}
      </Dialog>
    </>
  );
}

function RetryButton({ job }: { job: Job }) {
  const api = useApi();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const toasts = useToasts();
  const [idempotencyKey] = useState(() => crypto.randomUUID()); // one job, however often the button is pressed
  const retrying = useMutation({
    mutationFn: () => api.post('/jobs/{job_id}/retry', { path: { job_id: job.job_id }, idempotencyKey }),
    onSuccess: async ({ job_id }) => {
      toasts.showSuccess('The job was started again. This is the new job.');
      await queries.invalidateQueries({ queryKey: ['jobs'] });
      await navigate(`/jobs/${job_id}`);
    },
    onError: (error) => {
      toasts.showError(messageOf(error));
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
