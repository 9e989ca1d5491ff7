import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { useNavigate } from 'react-router';
import { useApi } from '../../../api/context';
import { useToasts } from '../../../ui/messages/toast_context';
import type { Body } from './draft';
import { IdempotencyKeys, type SubmissionOutcome, type Submitted, summariseJobs, submitAll, isStarted } from './submission';

/** Submits a form, and opens the job or the list of jobs once all were accepted. */
export function useSubmission() {
  const api = useApi();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const toasts = useToasts();
  const [keys] = useState(() => new IdempotencyKeys());
  const isSending = useRef(false); // a second click can come before the first one is rendered
  const [isBusy, setBusy] = useState(false);
  const [outcomes, setOutcomes] = useState<readonly SubmissionOutcome[]>([]);

  const submit = async (body: Body): Promise<Submitted> => {
    const answer = await api.post('/jobs', { body, idempotencyKey: keys.keyFor(body) });
    if ('exact' in answer) throw new TypeError('An estimate came in place of a job.');
    return answer;
  };

  /** Submit the bodies of all slides, except those whose job has started. */
  const send = async (bodies: readonly Body[]) => {
    if (isSending.current) return;
    isSending.current = true;
    setBusy(true);
    const known = new Map(outcomes.filter(isStarted).map((outcome) => [outcome.slideId, outcome]));
    const wanted = bodies.filter(({ slide_id }) => !known.has(slide_id));
    const sent = new Map((await submitAll(wanted, submit)).map((outcome) => [outcome.slideId, outcome]));
    const now = bodies.flatMap(({ slide_id }) => known.get(slide_id) ?? sent.get(slide_id) ?? []);
    const jobs = now.filter(isStarted).map(({ job }) => job);
    void queries.invalidateQueries({ queryKey: ['jobs'] });
    const [only] = jobs;
    if (jobs.length === now.length) {
      toasts.showSuccess(summariseJobs(jobs));
      await navigate(jobs.length === 1 && only ? `/jobs/${only.job_id}` : '/jobs');
      return; // isSending stays true: a click on the page that is being left must not submit again
    }
    isSending.current = false;
    setBusy(false);
    setOutcomes(now);
  };

  return { send, isBusy, outcomes };
}
