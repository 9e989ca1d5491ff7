import { formatMoment } from '../../../ui/format';
import { Select } from '../../../ui/fields/Select';
import { JOB_STATES } from '../../../ui/statuses';
import type { Panes } from './pane_address';
import type { Job } from '../results/queries';

const NONE = '';
const SLIDE = 'slide';

/** Describe a job by model, date and label, with its status unless it simply succeeded. */
function describeJob({ model, created_at, status, label }: Job): string {
  const state = status === 'COMPLETED' ? null : JOB_STATES[status].label;
  return [model, formatMoment(created_at), label, state].filter(Boolean).join(' · ');
}

interface Props {
  jobs: readonly Job[];
  panes: Panes;
  onChange: (panes: Panes) => void;
}

/** Chooses the result that is drawn over the slide, and the one to compare it with. */
export function PaneChoice({ jobs, panes, onChange }: Props) {
  const options = jobs.map((job) => ({ value: job.job_id, label: describeJob(job) }));
  const [first, second] = panes;
  const beside = second ?? (panes.length === 2 ? SLIDE : NONE);
  return (
    <div className="flex flex-col gap-3">
      <Select
        label="Result"
        value={first ?? NONE}
        options={[{ value: NONE, label: 'None: the slide alone' }, ...options]}
        onChange={({ target }) => {
          const chosen = target.value === NONE ? null : target.value;
          onChange(panes.length === 2 && chosen !== null ? [chosen, panes[1]] : [chosen]);
        }}
      />
      {first !== null && (
        <Select
          label="Compare with"
          value={beside}
          options={[{ value: NONE, label: 'Nothing' }, { value: SLIDE, label: 'The slide alone' }, ...options]}
          onChange={({ target }) => {
            if (target.value === NONE) onChange([first]);
            else onChange([first, target.value === SLIDE ? null : target.value]);
          }}
        />
      )}
    </div>
  );
}
