import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { useNavigate } from 'react-router';
import { useApi } from '../../api/context';
import { useToasts } from '../../ui/toast_context';
import type { Body } from './draft';
import { Keys, type Outcome, type Submitted, newsOf, submitAll, succeeded } from './submission';

/** Sends what a form wishes for, and goes to what came of it once all of it was taken. */
export function useSubmission() {
  const api = useApi();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const say = useToasts();
  const [keys] = useState(() => new Keys());
  const isSending = useRef(false); // a second click may come before the first one is drawn
  const [isBusy, setBusy] = useState(false);
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>([]);

  const submit = async (body: Body): Promise<Submitted> => {
    const answer = await api.post('/jobs', { body, idempotencyKey: keys.of(body) });
    if ('exact' in answer) throw new TypeError('An estimate came in place of a job.');
    return answer;
  };

  /** `bodies` of all slides; those whose job was started are not sent again. */
  const send = async (bodies: readonly Body[]) => {
    if (isSending.current) return;
    isSending.current = true;
    setBusy(true);
    const known = new Map(outcomes.filter(succeeded).map((outcome) => [outcome.slideId, outcome]));
    const wanted = bodies.filter(({ slide_id }) => !known.has(slide_id));
    const sent = new Map((await submitAll(wanted, submit)).map((outcome) => [outcome.slideId, outcome]));
    const now = bodies.flatMap(({ slide_id }) => known.get(slide_id) ?? sent.get(slide_id) ?? []);
    const jobs = now.filter(succeeded).map(({ job }) => job);
    void queries.invalidateQueries({ queryKey: ['jobs'] });
    const [only] = jobs;
    if (jobs.length === now.length) {
      say.done(newsOf(jobs));
      await navigate(jobs.length === 1 && only ? `/jobs/${only.job_id}` : '/jobs');
      return; // still sending for the last click on a page that is going
    }
    isSending.current = false;
    setBusy(false);
    setOutcomes(now);
  };

  return { send, isBusy, outcomes };
}
