import { act, fireEvent, screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Job } from '../../api/live/job_update';
import { makeSubscribe } from '../../api/live/push';
import { expectAccessible } from '../../testing/axe';
import { FakeApi, type Reply, makeSession } from '../../testing/fakes';
import { FakeSocket } from '../../testing/fake_socket';
import { makeJob, makePushedUpdate } from '../../testing/jobs';
import { renderPage } from '../../testing/render';
import type { JobEvent } from './events/use_events';
import type { ResultFile, Summary } from './results/queries';

const ENDED = { finished_at: '2026-11-28T12:05:00Z', shards_remaining: 0 } satisfies Partial<Job>;
const COMPLETED = makeJob({ ...ENDED, status: 'COMPLETED', version: 5, progress: 1, tiles_inferred: 1000 });
const FAILED = makeJob({
  ...ENDED,
  status: 'FAILED',
  version: 4,
  reason: 'poison_shard',
  sentence: 'Part 2 of the slide failed 3 times, so the job was stopped.',
});

const event = (seq: number, kind: string, detail: JobEvent['detail'] = {}): JobEvent => ({
  seq,
  kind,
  version: 3,
  detail,
  at: `2026-11-28T12:00:${String(seq).padStart(2, '0')}Z`,
});

const page = (items: unknown[], next_cursor: string | null = null): Reply => ({ body: { items, next_cursor } });

const file = (name: string): ResultFile => ({
  name,
  size: 1200,
  sha256: 'a'.repeat(64),
  media_type: 'text/csv',
  url: `https://bucket.example/${name}?signed`,
});

const SUMMARY: Summary = {
  tiles: { planned: 1000, inferred: 997, unreadable: 3 },
  quality: { measured: 997, mostly_white: 12, with_pen: 0 },
  unreadable: ['file tile 3', 'file tile 4', 'file tile 3: the JPEG ends early; file tile 4'].map((tiles) => ({
    reason: `${tiles}: the JPEG ends early`,
  })),
  slide: { width: 46_000, height: 32_914, mpp: 0.499, mpp_y: 0.499, tissue_um2: 91_234_000, tissue_fraction: 0.25 },
  model: { mpp: 0.5 },
  numerics: {},
  warnings: ['Pen marks were left out.'],
  code_version: '1.0',
  run: { inference: { seconds: 154, hardware: ['NVIDIA A10G'] } },
};

function api(jobs: Job[], replies: Record<string, Reply | Reply[]> = {}, role = 'analyst'): FakeApi {
  return new FakeApi({
    'GET /me': { body: { tenant: 't', subject: 'user:1', role } },
    'GET /jobs/job-1': jobs.map((body) => ({ body })),
    'GET /jobs/job-1/events': page([event(1, 'moved', { state: 'QUEUED' })]),
    'GET /slides/slide-1': { body: { slide_id: 'slide-1', name: 'prostate.svs', status: 'UPLOADED' } },
    ...replies,
  });
}

const show = (fake: FakeApi) => renderPage('/jobs/job-1', fake);

async function showLive(fake: FakeApi): Promise<FakeSocket> {
  const session = makeSession();
  renderPage('/jobs/job-1', fake, session, makeSubscribe('ws://push.example/graphql/realtime', session, FakeSocket.connect));
  await waitFor(() => {
    expect(FakeSocket.made).toHaveLength(1);
  });
  act(() => {
    FakeSocket.last.admit();
  });
  return FakeSocket.last;
}

const readings = (fake: FakeApi) => fake.seen.filter(({ address }) => address === '/jobs/job-1').length;

describe('a job that runs', () => {
  beforeEach(() => {
    FakeSocket.made.length = 0;
  });

  it('shows its stage, its tiles and what is known of the time, which is nothing at first', async () => {
    show(api([makeJob({ tiles_per_second: null, eta_seconds: null })]));
    expect(await screen.findByRole('heading', { level: 1, name: 'stain-density on prostate.svs' })).toBeVisible();
    expect(screen.getByRole('progressbar', { name: 'Tiles' })).toHaveValue(40);
    expect(screen.getByText('400 of 1,000 · 40 %')).toBeVisible();
    expect(screen.getByRole('listitem', { current: 'step' })).toHaveTextContent('Running, now');
    expect(screen.getByText('Time left').nextSibling).toHaveTextContent('–');
    expect(screen.getByText('Parts done').nextSibling).toHaveTextContent('1 of 4');
    await expectAccessible();
  });

  it('follows what is pushed without asking, and asks for the last word', async () => {
    const results = page([file('tiles.csv')]);
    const fake = api([makeJob(), makeJob(), COMPLETED], { 'GET /jobs/job-1/results': results });
    const socket = await showLive(fake);
    expect(await screen.findByText('Live')).toBeVisible();
    await waitFor(() => {
      expect(readings(fake)).toBe(2);
    });
    for (const [seq, tiles, shown] of [
      [5, 500, '500 of 1,000 · 50 %'],
      [7, 700, '700 of 1,000 · 70 %'],
      [6, 600, '700 of 1,000 · 70 %'], // late
    ] as const) {
      const counts = { progress: tiles / 1000, tiles_inferred: tiles - 7, tiles_unreadable: 7 };
      act(() => {
        socket.push(makePushedUpdate(makeJob({ progress_seq: seq, ...counts })));
      });
      expect(await screen.findByText(shown)).toBeVisible();
    }
    expect(screen.getByText('7 (1 %)')).toBeVisible();
    expect(screen.getByText('about 20 s')).toBeVisible();
    expect(readings(fake)).toBe(2);
    act(() => {
      socket.push(makePushedUpdate(COMPLETED));
    });
    expect(await screen.findByRole('link', { name: 'Download tiles.csv' })).toBeVisible();
    expect(readings(fake)).toBe(3);
    expect(socket.readyState).toBe(3);
    expect(screen.getByText('Took').nextSibling).toHaveTextContent('5 min');
  });

  it('says who asked for it, and at its end what it cost', async () => {
    show(api([{ ...COMPLETED, worker_seconds: 192, dollars: 0.0282 }], { 'GET /jobs/job-1/results': page([]) }));
    expect(await screen.findByText('by ada@hospital.example')).toBeVisible();
    expect(screen.getByText('Cost').nextSibling).toHaveTextContent('$0.033 min of one machine');
  });

  it('says so when it looks by itself, and when a machine is waited for', async () => {
    const soon = new Date(Date.now() + 180_000).toISOString();
    const waits = { waiting_for: 'a worker is starting', expected_start_at: soon, expected_end_at: soon };
    show(api([makeJob({ tiles_per_second: null, eta_seconds: null, ...waits })]));
    expect(await screen.findByText('Checking every 2 seconds')).toBeVisible();
    expect(screen.getByText(/A worker is starting. The first tile is expected in about 3 min./)).toBeVisible();
    expect(screen.getByText('Time left').nextSibling).toHaveTextContent('about 3 min');
    await expectAccessible();
  });

  it('reads the stage aloud, and no number that changes each second', async () => {
    const socket = await showLive(api([makeJob({ status: 'PLANNING', version: 2, progress: 0 })]));
    const spoken = await screen.findByText('Planning.');
    expect(spoken).toHaveAttribute('role', 'status');
    act(() => {
      socket.push(makePushedUpdate(makeJob()));
    });
    expect(await screen.findByText('400 of 1,000 · 40 %')).toBeVisible();
    act(() => {
      socket.push(makePushedUpdate(makeJob({ progress_seq: 5, progress: 0.5, tiles_inferred: 500 })));
    });
    expect(await screen.findByText('500 of 1,000 · 50 %')).toBeVisible();
    expect(spoken).toHaveTextContent(/^Running\.$/);
  });

  it('is cancelled after a question', async () => {
    const cancelled = makeJob({ ...ENDED, status: 'CANCELLED', version: 4 });
    const fake = api([makeJob()], { 'POST /jobs/job-1/cancel': { body: cancelled } });
    show(fake);
    await userEvent.click(await screen.findByRole('button', { name: 'Cancel the job' }));
    const dialog = screen.getByRole('dialog', { name: 'Cancel this job?' });
    await expectAccessible();
    await userEvent.click(within(dialog).getByRole('button', { name: 'Cancel the job' }));
    expect(await screen.findByRole('button', { name: 'Try again' })).toBeVisible();
    expect(screen.getByText('The job was cancelled.')).toBeVisible();
    expect(screen.getByRole('heading', { level: 1 })).toHaveFocus();
    expect(screen.getByRole('listitem', { current: 'step' })).toHaveTextContent('Running, stopped here');
  });

  it('is deleted after a question once it has ended', async () => {
    const fake = api([COMPLETED], { 'DELETE /jobs/job-1': { status: 204 }, 'GET /jobs': page([]), 'GET /models': page([]) });
    show(fake);
    await userEvent.click(await screen.findByRole('button', { name: 'Delete' }));
    const dialog = screen.getByRole('dialog', { name: 'Delete this job?' });
    await expectAccessible(dialog);
    await userEvent.click(within(dialog).getByRole('button', { name: 'Delete' }));
    expect(await screen.findByRole('heading', { level: 1, name: 'Jobs' })).toBeVisible();
    expect(screen.getByText('The job was deleted.')).toBeVisible();
    expect(fake.seen.filter(({ method }) => method === 'DELETE')).toHaveLength(1);
  });

  it('says why a legal hold keeps it', async () => {
    const detail = 'The slide is under legal hold: neither it nor its jobs can be deleted until an admin ends the hold.';
    show(api([COMPLETED], { 'DELETE /jobs/job-1': { status: 409, body: { type: '/problems/conflict', detail } } }));
    await userEvent.click(await screen.findByRole('button', { name: 'Delete' }));
    await userEvent.click(within(screen.getByRole('dialog')).getByRole('button', { name: 'Delete' }));
    expect(await within(screen.getByRole('dialog')).findByRole('alert')).toHaveTextContent(detail);
  });

  it('names no slide in the tab, which browsers keep in their history', async () => {
    show(api([COMPLETED]));
    expect(await screen.findByRole('heading', { level: 1, name: /prostate.svs/ })).toBeVisible();
    expect(document.title).toMatch(/^Job of [^/]* – Tessera$/);
    expect(document.title).not.toContain('prostate');
  });

  it('is not to be cancelled by who may only look', async () => {
    show(api([makeJob()], {}, 'viewer'));
    expect(await screen.findByRole('link', { name: 'View it on the slide' })).toHaveAttribute(
      'href',
      '/view/slide-1?job=job-1',
    );
    expect(screen.queryByRole('button', { name: 'Cancel the job' })).toBeNull();
  });

  it('stays on screen when the API is away', async () => {
    const fake = api([], { 'GET /jobs/job-1': [{ body: makeJob() }, new TypeError('Failed to fetch')] });
    await showLive(fake);
    expect(await screen.findByRole('alert')).toHaveTextContent('The server cannot be reached.');
    expect(screen.getByText('400 of 1,000 · 40 %')).toBeVisible();
  });
});

describe('a job that failed', () => {
  it('says why, what to do, and what to quote', async () => {
    show(api([FAILED]));
    const failure = await screen.findByRole('region', { name: 'The job failed' });
    expect(failure).toHaveTextContent('Part 2 of the slide failed 3 times, so the job was stopped.');
    expect(failure).toHaveTextContent('Try again: finished parts are kept.');
    expect(failure).toHaveTextContent('poison_shard');
    expect(failure).toHaveTextContent(FAILED.traceparent);
    await expectAccessible();
  });

  it('is tried again as a new job, one however often it is pressed', async () => {
    const busy = { status: 503, body: { type: '/problems/busy', detail: 'Try again in a minute.' } };
    const fake = api([FAILED], {
      'POST /jobs/job-1/retry': [busy, { status: 202, body: makeJob({ job_id: 'job-2' }) }],
      'GET /jobs/job-2': { body: makeJob({ job_id: 'job-2', retry_of: 'job-1' }) },
      'GET /jobs/job-2/events': page([]),
    });
    show(fake);
    await userEvent.click(await screen.findByRole('button', { name: 'Try again' }));
    expect(await screen.findByRole('link', { name: 'an earlier job' })).toHaveAttribute('href', '/jobs/job-1');
    const keys = fake.seen.filter(({ method }) => method === 'POST').map(({ headers }) => headers.get('Idempotency-Key'));
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });
});

describe('a job that ended well', () => {
  const results = page(['summary.json', 'tiles.csv', 'tiles.geojson.gz'].map(file));

  beforeEach(() => {
    vi.stubGlobal('fetch', () => Promise.resolve(Response.json(SUMMARY)));
  });

  it('has its figures, its files with what opens them, and a way to the viewer', async () => {
    show(api([COMPLETED], { 'GET /jobs/job-1/results': results }));
    const files = await screen.findByRole('table', { name: 'Result files' });
    expect(within(files).getAllByRole('rowheader').map((cell) => cell.textContent)).toEqual([
      expect.stringContaining('tiles.geojson.gz'),
      expect.stringContaining('tiles.csv'),
      expect.stringContaining('summary.json'),
    ]);
    expect(within(files).getByRole('row', { name: /tiles\.geojson/ })).toHaveTextContent('QuPath');
    expect(screen.getByRole('link', { name: 'Download tiles.csv' })).toHaveAttribute('href', file('tiles.csv').url);
    expect(await screen.findByText('91.2 mm², 25 % of the slide')).toBeVisible();
    expect(screen.getByText(/3 of 1,000 tiles could not be read .* the JPEG ends early \(3\)/)).toBeVisible();
    expect(screen.getByText(/Of 997 tiles, 12 are mostly glass; tile_quality\.csv lists/)).toBeVisible();
    expect(screen.getByText('Pen marks were left out.')).toBeVisible();
    await expectAccessible();
  });

  it.each([
    [{ objects: { found: 1204, classes: { Nucleus: 1200, Lymphocyte: 4 } } }, 'Objects', '1,200 Nucleus and 4 Lymphocyte'],
    [{ objects: { found: 0, classes: { Nucleus: 0 } } }, 'Objects', 'none found'],
    [{ model: { mpp: 0.5, licence: 'MIT', embedding: { dimensions: 1280 } } }, 'Vectors', '1,280 numbers for each tile'],
    [{ model: { mpp: 0.5, licence: 'MIT' } }, 'Model’s licence', 'MIT'],
  ])('says what it found besides scores: %o', async (changes, name, text) => {
    vi.stubGlobal('fetch', () => Promise.resolve(Response.json({ ...SUMMARY, ...changes })));
    const files = ['features.h5', 'objects.geojson.gz', 'objects.full.geojson.gz', 'objects.parquet', 'tiles.parquet', 'summary.json'];
    show(api([COMPLETED], { 'GET /jobs/job-1/results': page(files.map(file)) }));
    expect((await screen.findByText(name)).nextSibling).toHaveTextContent(text);
    const opens = (what: RegExp) => screen.getByRole('row', { name: what });
    expect(opens(/objects\.geojson/)).toHaveTextContent('QuPath');
    expect(opens(/objects\.full\.geojson/)).toHaveTextContent('from the corner of level 0');
    expect(opens(/objects\.parquet/)).toHaveTextContent('geopandas');
    expect(opens(/tiles\.parquet/)).toHaveTextContent('pandas');
    expect(opens(/features\.h5/)).toHaveTextContent('h5py');
  });

  it('fetches fresh links in place of those that have run out', async () => {
    const fake = api([COMPLETED], { 'GET /jobs/job-1/results': results });
    show(fake);
    const link = await screen.findByRole('link', { name: 'Download tiles.csv' });
    const requests = () => fake.seen.filter(({ address }) => address.endsWith('/results')).length;
    expect(requests()).toBe(1);
    vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 15 * 60_000);
    expect(fireEvent.click(link), 'the browser does not follow it').toBe(false);
    await waitFor(() => {
      expect(requests()).toBe(2);
    });
  });

  it('says that the summary could not be read, and still offers it', async () => {
    vi.stubGlobal('fetch', () => Promise.resolve(new Response(null, { status: 403 })));
    show(api([COMPLETED], { 'GET /jobs/job-1/results': results }));
    expect(await screen.findByText(/summary\.json could not be read \(status 403\)/)).toBeVisible();
    expect(screen.getByRole('link', { name: 'Download summary.json' })).toBeVisible();
  });

  it('found no tissue, in words', async () => {
    const none = makeJob({ ...ENDED, status: 'NO_TISSUE', tiles_planned: 0, tiles_inferred: 0, progress: 1, shards_total: 0 });
    show(api([none], { 'GET /jobs/job-1/results': results }));
    expect(await screen.findByText('none, since no tissue was found')).toBeVisible();
    expect(screen.getAllByText(/, not needed/)).toHaveLength(2);
    await expectAccessible();
  });
});

describe('what happened', () => {
  it('is told newest first, all of it when asked for, read page by page', async () => {
    const first = [event(1, 'moved', { state: 'QUEUED' }), event(2, 'moved', { state: 'PLANNING' })];
    const second = [
      event(3, 'moved', { state: 'RUNNING' }),
      event(4, 'shard_leased', { shard: 0, attempt: 1 }),
      event(5, 'shard_released', { shard: 0, attempt: 1, reason: 'The worker’s lease ran out.' }),
      event(6, 'shard_leased', { shard: 0, attempt: 2 }),
      event(7, 'shard_committed', { shard: 0, attempt: 2, tiles: 2048, unreadable: 4 }),
      event(8, 'shard_failed', { shard: 1, attempt: 1, reason: 'The fetch stage hangs.' }),
      event(9, 'shard_leased', { shard: 2, attempt: 1 }),
    ];
    const fake = api([makeJob({ shards_remaining: 4 })], { 'GET /jobs/job-1/events': [page(first, '2'), page(second)] });
    show(fake);
    const log = await screen.findByRole('region', { name: 'What happened' });
    await userEvent.click(await within(log).findByRole('button', { name: 'Show all 9' }));
    expect(within(log).getAllByRole('listitem').map((item) => item.textContent.slice(8))).toEqual([
      'Part 3 started',
      'Part 2 failed: The fetch stage hangs.',
      'Part 1 done: 2,048 tiles, 4 of them unreadable',
      'Part 1 restarted, attempt 2',
      'Part 1 released: The worker’s lease ran out.',
      'Part 1 started',
      'Planned; its parts are waiting for workers',
      'Planning started',
      'Requested',
    ]);
    expect(screen.getByText('Restarted').nextSibling).toHaveTextContent('1 part');
    expect(screen.getByText('Parts done').nextSibling).toHaveTextContent('1 of 4');
    const requests = fake.seen.map(({ address }) => address).filter((address) => address.includes('events'));
    expect(requests).toEqual(['/jobs/job-1/events?limit=100', '/jobs/job-1/events?cursor=2&limit=100']);
    await expectAccessible();
  });

  it('goes on at its last page when the job has moved', async () => {
    const fake = api([makeJob()], {
      'GET /jobs/job-1/events': [page([event(1, 'moved', { state: 'QUEUED' })], '1'), page([event(2, 'moved', { state: 'RUNNING' })])],
    });
    FakeSocket.made.length = 0;
    const socket = await showLive(fake);
    expect(await screen.findByText('Planned; its parts are waiting for workers')).toBeVisible();
    const requests = () => fake.seen.map(({ address }) => address).filter((address) => address.includes('events'));
    const before = requests().length;
    const hidden = vi.spyOn(document, 'hidden', 'get').mockReturnValue(true);
    act(() => {
      socket.push(makePushedUpdate(makeJob({ status: 'STITCHING', version: 4 })));
    });
    expect((await screen.findAllByText('Combining results'))[0]).toBeVisible();
    expect(requests(), 'nobody looks at a hidden tab').toHaveLength(before);
    hidden.mockReturnValue(false);
    act(() => {
      document.dispatchEvent(new Event('visibilitychange'));
    });
    await waitFor(() => {
      expect(requests().slice(before)).toEqual(['/jobs/job-1/events?cursor=1&limit=100']);
    });
  });
});

it('is not there, in the sentence of the API', async () => {
  const missing = { status: 404, body: { type: '/problems/not_found', detail: 'There is no job with this id.' } };
  show(api([], { 'GET /jobs/job-1': missing }));
  expect(await screen.findByRole('alert')).toHaveTextContent('There is no job with this id.');
  await expectAccessible();
});
