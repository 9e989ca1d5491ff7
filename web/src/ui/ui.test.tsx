import { render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { useState } from 'react';
import { describe, expect, it, vi } from 'vitest';
import { ApiProblem } from '../api/problem';
import { expectAccessible } from '../testing/axe';
import { Button } from './Button';
import { Checkbox } from './fields/Checkbox';
import { Dialog } from './Dialog';
import { formatBytes, formatDuration } from './format';
import { Problem } from './messages/Problem';
import { ProgressBar } from './messages/ProgressBar';
import { Select } from './fields/Select';
import { JOB_STATES, JobStatus, SLIDE_STATES, SlideStatus } from './statuses';
import { TextField } from './fields/TextField';
import { Toasts } from './messages/Toasts';
import { useToasts } from './messages/toast_context';

describe('controls', () => {
  it('have names, hints and errors that are read with them', async () => {
    render(
      <main>
        <TextField label="Label" hint="For finding it again" error="At most 200 characters." defaultValue="x" />
        <Select label="Priority" options={[{ value: 'high', label: 'High' }]} />
        <Checkbox label="Remove the label" hint="And the names in the file" />
        <ProgressBar label="Analysis" value={0.256} />
        <ProgressBar label="Inspection" value={undefined} />
      </main>,
    );
    const field = screen.getByRole('textbox', { name: 'Label' });
    expect(field).toHaveAccessibleDescription('For finding it again At most 200 characters.');
    expect(field).toBeInvalid();
    expect(screen.getByRole('progressbar', { name: 'Analysis' })).toHaveAttribute('value', '25');
    expect(screen.getByRole('progressbar', { name: 'Inspection' })).not.toHaveAttribute('value');
    await expectAccessible();
  });

  it('do nothing while they are busy, and keep the focus', async () => {
    const pressed = vi.fn();
    render(
      <Button busy onClick={pressed}>
        Save
      </Button>,
    );
    await userEvent.click(screen.getByRole('button', { name: 'Save' }));
    expect(pressed).not.toHaveBeenCalled();
    expect(screen.getByRole('button')).toHaveFocus();
  });
});

describe('a dialog', () => {
  function Deletion() {
    const [open, setOpen] = useState(false);
    const close = () => {
      setOpen(false);
    };
    return (
      <>
        <Button
          onClick={() => {
            setOpen(true);
          }}
        >
          Delete
        </Button>
        <Dialog title="Delete the slide?" open={open} onClose={close} actions={<Button onClick={close}>Keep it</Button>}>
          Its files go too.
        </Dialog>
      </>
    );
  }

  it('opens with its name, and closes when it is told to', async () => {
    render(<Deletion />);
    expect(screen.queryByRole('dialog')).toBeNull();
    await userEvent.click(screen.getByRole('button', { name: 'Delete' }));
    expect(screen.getByRole('dialog', { name: 'Delete the slide?' })).toBeVisible();
    await expectAccessible(screen.getByRole('dialog'));
    await userEvent.click(screen.getByRole('button', { name: 'Keep it' }));
    expect(screen.queryByRole('dialog')).toBeNull();
  });
});

describe('news', () => {
  it('of what went wrong stay until they are closed', async () => {
    function Told() {
      const toasts = useToasts();
      return (
        <Button
          onClick={() => {
            toasts.showError('The job could not be cancelled.');
          }}
        >
          Cancel
        </Button>
      );
    }
    render(
      <Toasts>
        <Told />
      </Toasts>,
    );
    await userEvent.click(screen.getByRole('button', { name: 'Cancel' }));
    expect(screen.getByRole('log', { name: 'News' })).toHaveTextContent('The job could not be cancelled.');
    await userEvent.click(screen.getByRole('button', { name: 'Close' }));
    expect(screen.queryByText('The job could not be cancelled.')).toBeNull();
  });

  it('of a server that failed hold what to quote when asking for help', () => {
    render(<Problem error={new ApiProblem(500, 'internal', 'Something went wrong on our side.', undefined, '00-ab-01')} />);
    expect(screen.getByRole('alert')).toHaveTextContent('00-ab-01');
  });
});

describe('statuses', () => {
  it('are words, each of its own', () => {
    for (const states of [SLIDE_STATES, JOB_STATES]) {
      const labels = Object.values(states).map(({ label }) => label);
      expect(new Set(labels).size).toBe(labels.length);
    }
    render(
      <>
        <SlideStatus status="UPLOADED" />
        <JobStatus status="NO_TISSUE" />
      </>,
    );
    expect(screen.getByText('Being inspected')).toBeVisible();
    expect(screen.getByText('No tissue found')).toBeVisible();
  });
});

describe('numbers', () => {
  it('are as people read them', () => {
    expect([0, 999, 1000, 12_345, 3_210_000_000].map(formatBytes)).toEqual(['0 bytes', '999 bytes', '1 kB', '12.3 kB', '3.2 GB']);
    expect([4.4, 59.4, 180, 7800].map(formatDuration)).toEqual(['4 s', '59 s', '3 min', '2 h 10 min']);
  });
});
