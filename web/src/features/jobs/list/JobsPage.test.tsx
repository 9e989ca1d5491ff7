import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it } from 'vitest';
import { expectAccessible } from '../../../testing/axe';
import { FakeApi } from '../../../testing/fakes';
import { ME, VIEWER, makePage } from '../../../testing/replies';
import { renderPage } from '../../../testing/render';
import { makeListedJob, makeModel, makeListedSlide } from '../testing';

const COMMON = {
  'GET /me': ME,
  'GET /models': makePage([makeModel('stain-density'), makeModel('epithelium')]),
  'GET /slides/s1': { body: makeListedSlide('s1') },
  'GET /slides/s1/thumbnail': { body: 'bytes' },
};

describe('the list of jobs', () => {
  it('shows of each its slide, model, status in words and how far it is', async () => {
    const running = makeListedJob('j1', { status: 'RUNNING', progress: 0.426, eta_seconds: 180, label: 'study 7' });
    const waiting = makeListedJob('j2', { status: 'RUNNING', progress: 0, waiting_for_capacity: true });
    const partly = makeListedJob('j3', { status: 'COMPLETED_WITH_UNREADABLE_TILES', tiles_unreadable: 12 });
    const failed = makeListedJob('j4', { status: 'FAILED', sentence: 'The slide was replaced while it was read.' });
    renderPage('/jobs', new FakeApi({ ...COMMON, 'GET /jobs': makePage([running, waiting, partly, failed]) }));
    expect(await screen.findAllByRole('link', { name: 's1.svs' })).toHaveLength(4);
    const [, first, second, third, fourth] = screen.getAllByRole('row');
    if (!first || !second || !third || !fourth) throw new Error('There are four rows.');
    expect(first).toHaveTextContent(/study 7.*stain-density.*Running42 %, 3 min left/);
    expect(within(first).getByRole('progressbar')).toHaveAttribute('value', '42');
    expect(second).toHaveTextContent('Waiting for a machine');
    expect(third).toHaveTextContent('1,204 tiles, 12 unreadable');
    expect(third).toHaveTextContent(/ada@hospital\.example\$0\.03/);
    expect(fourth).toHaveTextContent('The slide was replaced while it was read.');
    expect(within(fourth).queryByRole('progressbar')).toBeNull();
    await expectAccessible();
  });

  it('asks for a slide’s name and picture once, however many jobs it has', async () => {
    const api = new FakeApi({ ...COMMON, 'GET /jobs': makePage([makeListedJob('j1'), makeListedJob('j2'), makeListedJob('j3')]) });
    renderPage('/jobs', api);
    await screen.findAllByRole('link', { name: 's1.svs' });
    expect(api.seen.filter(({ address }) => address === '/slides/s1')).toHaveLength(1);
    expect(api.seen.filter(({ address }) => address === '/slides/s1/thumbnail?v=3')).toHaveLength(1);
  });

  it('is filtered by name, status and model, in the address', async () => {
    const api = new FakeApi({ ...COMMON, 'GET /jobs': makePage([makeListedJob('j1')]) });
    renderPage('/jobs?status=FAILED', api);
    await userEvent.selectOptions(await screen.findByLabelText('Model'), await screen.findByRole('option', { name: 'epithelium' }));
    await userEvent.type(screen.getByLabelText('Slide or label'), 'study');
    await expect
      .poll(() => api.seen.map(({ address }) => address))
      .toContain('/jobs?q=study&status=FAILED&model=epithelium&limit=30');
    await userEvent.selectOptions(screen.getByLabelText('Status'), 'All');
    await expect.poll(() => api.seen.map(({ address }) => address)).toContain('/jobs?q=study&model=epithelium&limit=30');
  });

  it('shows somebody their own', async () => {
    const api = new FakeApi({ ...COMMON, 'GET /jobs': makePage([makeListedJob('j1')]), 'GET /jobs?mine=true&limit=30': makePage([]) });
    renderPage('/jobs', api);
    await userEvent.selectOptions(await screen.findByLabelText('Requested by'), 'Me');
    expect(await screen.findByRole('heading', { name: 'No job matches' })).toBeVisible();
    expect(api.seen.at(-1)?.address).toBe('/jobs?mine=true&limit=30');
  });

  it('goes on at the cursor when more are asked for', async () => {
    const api = new FakeApi({
      ...COMMON,
      'GET /jobs': makePage([makeListedJob('j1', { label: 'one' })], 'c1'),
      'GET /jobs?cursor=c1&limit=30': makePage([makeListedJob('j2', { label: 'two' })]),
    });
    renderPage('/jobs', api);
    await userEvent.click(await screen.findByRole('button', { name: 'Show more' }));
    expect(await screen.findByText('two')).toBeVisible();
    expect(screen.getByText('one')).toBeVisible();
  });

  it('says what it is while it is empty, and what to do when nothing matches', async () => {
    const api = new FakeApi({ ...COMMON, 'GET /me': VIEWER, 'GET /jobs': makePage([]) });
    renderPage('/jobs', api);
    expect(await screen.findByRole('heading', { name: 'No jobs yet' })).toBeVisible();
    await expectAccessible();
    await userEvent.selectOptions(screen.getByLabelText('Status'), 'Failed');
    expect(await screen.findByRole('heading', { name: 'No job matches' })).toBeVisible();
  });

  it('offers starting jobs to who may', async () => {
    renderPage('/jobs', new FakeApi({ ...COMMON, 'GET /me': VIEWER, 'GET /jobs': makePage([makeListedJob('j1')]) }));
    await screen.findByRole('link', { name: 's1.svs' });
    expect(screen.queryByRole('link', { name: 'Choose slides to analyse' })).toBeNull();
  });

  it('shows the sentence of a refusal, and asks again when told to', async () => {
    const refused = { status: 403, body: { type: '/problems/forbidden', detail: 'Ask an admin for access.' } };
    renderPage('/jobs', new FakeApi({ ...COMMON, 'GET /jobs': [refused, makePage([makeListedJob('j1')])] }));
    expect(await screen.findByRole('alert')).toHaveTextContent('Ask an admin for access.');
    await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
    expect(await screen.findByRole('link', { name: 's1.svs' })).toBeVisible();
  });
});
