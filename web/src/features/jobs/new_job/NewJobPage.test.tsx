import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it } from 'vitest';
import { expectAccessible } from '../../../testing/axe';
import { FakeApi, type Reply, type SeenRequest } from '../../../testing/fakes';
import { ME, VIEWER, makePage } from '../../../testing/replies';
import { renderPage } from '../../../testing/render';
import { ESTIMATE, makeListedJob, makeModel, makeListedSlide } from '../testing';

const STAINS = makeModel('stain-density', { stain: 'H&E', licence: 'MIT', mpp_range: [0.2, 0.6] });
const started = (id: string, changes = {}): Reply => ({
  status: 202,
  body: { ...makeListedJob(id, { status: 'QUEUED' }), replayed: false, reused: false, shared: false, ...changes },
});

function api(replies: ConstructorParameters<typeof FakeApi>[0] = {}): FakeApi {
  return new FakeApi({
    'GET /me': ME,
    'GET /models': makePage([STAINS, makeModel('epithelium', { mpp: 1 })]),
    'GET /slides/s1': { body: makeListedSlide('s1') },
    'GET /slides/s2': { body: makeListedSlide('s2') },
    'GET /slides/s3': { body: makeListedSlide('s3') },
    'GET /jobs': makePage([]),
    'POST /jobs?dry_run=true': { body: ESTIMATE },
    'POST /jobs': started('j1'),
    ...replies,
  });
}

const sent = ({ seen }: FakeApi): SeenRequest[] => seen.filter(({ method, address }) => method === 'POST' && address === '/jobs');
const dryRuns = ({ seen }: FakeApi): SeenRequest[] => seen.filter(({ address }) => address === '/jobs?dry_run=true');
const choose = async (name: RegExp) => {
  await userEvent.click(await screen.findByRole('radio', { name }));
};
const start = () => screen.getByRole('button', { name: /^Start/ });

describe('the form for a job', () => {
  it('offers models with what they are for, their stain, scale and licence', async () => {
    renderPage('/jobs/new?slide=s1', api());
    const radio = await screen.findByRole('radio', { name: /stain-density/ });
    expect(radio).toHaveAccessibleDescription(/What stain-density is for.*for H&E.*0.5 µm per pixel.*0.2 to 0.6.*licence MIT/);
    expect(radio).toHaveAccessibleDescription(/of the installation/);
    expect(screen.getByText(/For research/)).toBeVisible();
    expect(screen.getByText('Choose a model to see an estimate.')).toBeVisible();
    await expectAccessible();
  });

  it('tells models of the own tenant from those of the installation', async () => {
    renderPage('/jobs/new?slide=s1', api({ 'GET /models': makePage([STAINS, makeModel('net', {}, { owner: 'tenant' })]) }));
    expect(await screen.findByRole('radio', { name: /net/ })).toHaveAccessibleDescription(/yours/);
    expect(screen.getByRole('radio', { name: /stain-density/ })).not.toHaveAccessibleDescription(/yours/);
  });

  it('shows what it takes before it is started, and how exactly that is counted', async () => {
    const fake = api({ 'POST /jobs?dry_run=true': { body: { ...ESTIMATE, measured: false } } });
    renderPage('/jobs/new?slide=s1', fake);
    await choose(/stain-density/);
    expect(await screen.findByText('1,204')).toBeVisible();
    expect(screen.getByText('about 12 min of one machine')).toBeVisible();
    expect(screen.getByText('about $0.12')).toBeVisible();
    expect(screen.getByText(/counted exactly. 2 parts.*speed of this model was not measured/)).toBeVisible();
    expect(sent(fake)).toEqual([]);
    await expectAccessible();
  });

  it('says nothing of the speed of a model that a worker measured', async () => {
    renderPage('/jobs/new?slide=s1', api());
    await choose(/stain-density/);
    expect(await screen.findByText(/counted exactly/)).toBeVisible();
    expect(screen.queryByText(/not measured/)).toBeNull();
  });

  it('calls a near count one', async () => {
    renderPage('/jobs/new?slide=s1', api({ 'POST /jobs?dry_run=true': { body: { ...ESTIMATE, exact: false } } }));
    await choose(/stain-density/);
    expect(await screen.findByText('about 1,200')).toBeVisible();
    expect(screen.getByText(/count is approximate/)).toBeVisible();
  });

  it('counts again when told to, after a server that was busy', async () => {
    const busy = { status: 503, body: { type: '/problems/busy', detail: 'Try again in a minute.' } };
    const fake = api({ 'POST /jobs?dry_run=true': [busy, busy, busy, busy, { body: ESTIMATE }] });
    renderPage('/jobs/new?slide=s1', fake);
    await choose(/stain-density/);
    await userEvent.click(await screen.findByRole('button', { name: 'Estimate again' }));
    expect(await screen.findByText('1,204')).toBeVisible();
    expect(screen.queryByRole('button', { name: 'Estimate again' })).toBeNull();
  });

  it('counts once somebody pauses, and not again for a label', async () => {
    const fake = api();
    renderPage('/jobs/new?slide=s1', fake);
    await choose(/stain-density/);
    await screen.findByText('1,204');
    await userEvent.type(screen.getByLabelText('Label'), 'study 7');
    await userEvent.click(screen.getByText('More options'));
    await userEvent.clear(screen.getByLabelText(/Minimum tissue/));
    await userEvent.type(screen.getByLabelText(/Minimum tissue/), '25');
    await expect.poll(() => dryRuns(fake).length).toBe(2);
    expect(dryRuns(fake).at(-1)?.body).toMatchObject({ options: { min_tissue: 0.25 } });
  });

  it('warns of a slide that the model does not fit, and shows the API’s sentence on what else it refuses', async () => {
    const refused = { status: 422, body: { type: '/problems/slide_rejected', detail: 'The slide has 2 µm.' } };
    renderPage(
      '/jobs/new?slide=s1',
      api({
        'GET /slides/s1': { body: makeListedSlide('s1', {}, { mpp_x: 0.9, mpp_y: 0.9, warnings: ['Pen marks cover 3 %.'] }) },
        'POST /jobs?dry_run=true': refused,
      }),
    );
    await choose(/stain-density/);
    expect(screen.getByText(/Does not fit: It has 0.9 µm per pixel; the model needs 0.5/)).toBeVisible();
    expect(screen.getByText(/validated for 0.2 to 0.6/)).toBeVisible();
    expect(screen.getByText(/Pen marks cover 3 %/)).toBeVisible();
    await choose(/epithelium/);
    expect(screen.queryByText(/Does not fit/)).toBeNull();
    expect(await screen.findByText('The slide has 2 µm.')).toBeVisible();
    expect(screen.getByText(/see the reason next to the slide/)).toBeVisible();
  });

  it('asks for the scale of a slide that does not say it', async () => {
    const fake = api({ 'GET /slides/s1': { body: makeListedSlide('s1', {}, { mpp_x: null, mpp_y: null }) } });
    renderPage('/jobs/new?slide=s1', fake);
    await choose(/stain-density/);
    await userEvent.click(start());
    const field = screen.getByLabelText('Scale in µm per pixel');
    expect(field).toBeInvalid();
    expect(dryRuns(fake)).toEqual([]);
    await userEvent.type(field, '0.5');
    await userEvent.click(start());
    await expect.poll(() => sent(fake).length).toBe(1);
    expect(sent(fake)[0]?.body).toMatchObject({ mpp: 0.5 });
  });

  it('marks what is missing, and goes to it', async () => {
    const fake = api();
    renderPage('/jobs/new?slide=s1', fake);
    await screen.findByRole('radio', { name: /stain-density/ });
    await userEvent.click(start());
    expect(screen.getByRole('group', { name: 'Model' })).toHaveAccessibleDescription(/Choose a model/);
    await expect.poll(() => document.activeElement).toBe(screen.getByRole('radio', { name: /epithelium/ }));
    expect(sent(fake)).toEqual([]);
    await expectAccessible();
  });

  it('opens the closed part when the fault is there', async () => {
    renderPage('/jobs/new?slide=s1', api());
    await choose(/stain-density/);
    await userEvent.click(screen.getByText('More options'));
    await userEvent.selectOptions(screen.getByLabelText('What is analysed'), 'A rectangle');
    await userEvent.click(screen.getByText('More options'));
    await userEvent.click(start());
    expect(screen.getByText(/Enter all four/)).toBeVisible();
  });

  it('makes one job of a double click, and goes to it', async () => {
    const fake = api();
    renderPage('/jobs/new?slide=s1', fake);
    await choose(/stain-density/);
    await userEvent.selectOptions(screen.getByLabelText('Priority'), 'high');
    await userEvent.dblClick(start());
    expect(await screen.findByText('The job was started.')).toBeVisible();
    expect(sent(fake)).toHaveLength(1);
    expect(sent(fake)[0]?.body).toMatchObject({ slide_id: 's1', model: 'stain-density', priority: 'high' });
    expect(sent(fake)[0]?.headers.get('Idempotency-Key')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('sends the same key again after a failure, and another one once the wish has changed', async () => {
    const broken = { status: 409, body: { type: '/problems/conflict', detail: 'The slide is being moved.' } };
    const fake = api({ 'POST /jobs': [broken, broken, started('j1')] });
    renderPage('/jobs/new?slide=s1', fake);
    await choose(/stain-density/);
    await userEvent.click(start());
    expect(await screen.findByRole('alert')).toHaveTextContent('The slide is being moved.');
    await userEvent.click(start());
    await expect.poll(() => sent(fake).length).toBe(2);
    await userEvent.type(screen.getByLabelText('Label'), 'x');
    await userEvent.click(start());
    expect(await screen.findByText('The job was started.')).toBeVisible();
    const [first, second, third] = sent(fake).map(({ headers }) => headers.get('Idempotency-Key'));
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  it('says when an equal job had finished', async () => {
    renderPage('/jobs/new?slide=s1', api({ 'POST /jobs': started('j1', { reused: true }) }));
    await choose(/stain-density/);
    await userEvent.click(start());
    expect(await screen.findByText(/An identical job had already finished/)).toBeVisible();
  });
});

describe('the form for several slides', () => {
  it('starts a job each, shows what was refused, and sends only that again', async () => {
    let isMended = false;
    const fake = api({
      'POST /jobs': ({ body }) => {
        const { slide_id } = body as { slide_id: string };
        return slide_id === 's2' && !isMended
          ? { status: 409, body: { type: '/problems/conflict', detail: 'The slide is archived.' } }
          : started(`job-${slide_id}`);
      },
    });
    renderPage('/jobs/new?slide=s1&slide=s2&slide=s3&slide=s1', fake);
    await choose(/stain-density/);
    expect(await screen.findByText('3,612')).toBeVisible();
    await userEvent.click(screen.getByRole('button', { name: 'Start 3 jobs' }));
    expect(await screen.findByRole('heading', { name: '1 of 3 slides was refused; the other jobs continue' })).toBeVisible();
    const items = screen.getAllByRole('listitem').filter((item) => /\.svs/.test(item.textContent));
    expect(items.map((item) => item.textContent)).toEqual([
      's1.svsStartedWatch it: s1.svs',
      's2.svsNot startedThe slide is archived.',
      's3.svsStartedWatch it: s3.svs',
    ]);
    await expectAccessible();
    isMended = true;
    await userEvent.click(screen.getByRole('button', { name: 'Try the refused slide again' }));
    expect(await screen.findByText('3 jobs were started.')).toBeVisible();
    expect(await screen.findByRole('heading', { level: 1, name: 'Jobs' })).toBeVisible();
    expect(sent(fake).map(({ body }) => (body as { slide_id: string }).slide_id)).toEqual(['s1', 's2', 's3', 's2']);
  });

  it('leaves out what is not ready, and what somebody leaves out', async () => {
    const fake = api({ 'GET /slides/s2': { body: makeListedSlide('s2', { status: 'ARCHIVED', inspection: null }) } });
    renderPage('/jobs/new?slide=s1&slide=s2&slide=s3', fake);
    await choose(/stain-density/);
    const row = screen.getByText('s2.svs').closest('li');
    expect(row && within(row).getByText('Archived')).toBeVisible();
    await userEvent.click(screen.getByRole('button', { name: 'Leave out s3.svs' }));
    await userEvent.click(screen.getByRole('button', { name: 'Start the job' }));
    await expect.poll(() => sent(fake).length).toBe(1);
    expect(sent(fake)[0]?.body).toMatchObject({ slide_id: 's1' });
  });
});

describe('without a form', () => {
  it('a viewer is told who starts jobs', async () => {
    renderPage('/jobs/new?slide=s1', api({ 'GET /me': VIEWER }));
    expect(await screen.findByRole('heading', { name: 'Your role cannot start jobs' })).toBeVisible();
    expect(screen.queryByRole('button', { name: /^Start/ })).toBeNull();
    await expectAccessible();
  });

  it('an address without a slide leads to the slides', async () => {
    renderPage('/jobs/new', api());
    expect(await screen.findByRole('link', { name: 'Choose slides' })).toHaveAttribute('href', '/slides?status=READY');
    await expectAccessible();
  });

  it('an installation without a model says so', async () => {
    renderPage('/jobs/new?slide=s1', api({ 'GET /models': makePage([]) }));
    expect(await screen.findByRole('heading', { name: 'There is no model yet' })).toBeVisible();
  });
});
