import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it, vi } from 'vitest';
import { expectAccessible } from '../../testing/axe';
import { FakeApi } from '../../testing/fakes';
import { ME, VIEWER, makePage } from '../../testing/replies';
import { renderPage } from '../../testing/render';
import { MOST_SLIDES, makeNewJobAddress, toggleSlide, addAll } from './selection';
import { makeListedSlide } from './testing';

describe('the list of slides', () => {
  it('shows each with its status in words, its size and why it was rejected', async () => {
    const rejected = makeListedSlide('b.svs', { status: 'REJECTED', sentence: 'The file does not say its scale: state it with the slide (`mpp`).' });
    renderPage('/slides', new FakeApi({ 'GET /me': ME, 'GET /slides': makePage([makeListedSlide('a.svs'), rejected]) }));
    expect(await screen.findByRole('row', { name: /a\.svs.*Ready.*3\.2 GB/ })).toBeVisible();
    const row = screen.getByRole('row', { name: /b\.svs/ });
    expect(within(row).getByText('Rejected')).toBeVisible();
    expect(
      within(row).getByText(
        'The file does not say its scale: state it with the slide (“Scale”, under “Correct” on the slide’s page).',
      ),
    ).toBeVisible();
    expect(document.title).toBe('Slides – Tessera');
    await expectAccessible();
  });

  it('shows what a slide looks like, and keeps the place where there is no picture', async () => {
    const rejected = makeListedSlide('b.svs', { status: 'REJECTED' });
    const api = new FakeApi({
      'GET /me': ME,
      'GET /slides': makePage([makeListedSlide('a.svs'), rejected]),
      'GET /slides/id-a.svs/thumbnail': { body: 'bytes' },
    });
    const { container } = renderPage('/slides', api);
    await waitFor(() => {
      expect(container.querySelector('td img')).toHaveAttribute('src', 'blob:thumbnail');
    });
    expect(container.querySelectorAll('td img')).toHaveLength(1);
    expect(api.seen.map(({ address }) => address)).not.toContain('/slides/id-b.svs/thumbnail?v=1');
    expect(api.seen.find(({ address }) => address.endsWith('thumbnail?v=1'))?.headers.get('Accept')).toBe('image/jpeg');
    await expectAccessible();
  });

  it('fetches no picture before its row comes into view', async () => {
    vi.spyOn(window.IntersectionObserver.prototype, 'observe').mockImplementation(() => undefined);
    const api = new FakeApi({ 'GET /me': ME, 'GET /slides': makePage([makeListedSlide('a.svs')]) });
    renderPage('/slides', api);
    expect(await screen.findByText('a.svs')).toBeVisible();
    expect(api.seen.map(({ address }) => address)).not.toContain('/slides/id-a.svs/thumbnail?v=1');
  });

  it('goes on at the cursor when more are asked for', async () => {
    const api = new FakeApi({ 'GET /me': ME, 'GET /slides': [makePage([makeListedSlide('a.svs')], 'c1'), makePage([makeListedSlide('b.svs')])] });
    renderPage('/slides', api);
    await userEvent.click(await screen.findByRole('button', { name: 'Show more' }));
    expect(await screen.findByText('b.svs')).toBeVisible();
    expect(screen.getByText('a.svs')).toBeVisible();
    expect(screen.queryByRole('button', { name: 'Show more' })).toBeNull();
    expect(api.seen.map(({ address }) => address)).toContain('/slides?cursor=c1&limit=50');
  });

  it('asks by name and status, and says so when nothing matches', async () => {
    const api = new FakeApi({ 'GET /me': ME, 'GET /slides': [makePage([makeListedSlide('a.svs')]), makePage([])] });
    renderPage('/slides?status=READY', api);
    await userEvent.type(await screen.findByLabelText('Name'), 'zz ');
    expect(await screen.findByRole('heading', { name: 'No slide matches' })).toBeVisible();
    expect(api.seen.map(({ address }) => address)).toContain('/slides?q=zz&status=READY&limit=50');
    await expectAccessible();
  });

  it('is empty in the words of a new organisation', async () => {
    renderPage('/slides', new FakeApi({ 'GET /me': ME, 'GET /slides': makePage([]) }));
    expect(await screen.findByRole('heading', { name: 'No slides yet' })).toBeVisible();
    await expectAccessible();
  });

  it('shows the sentence of a refusal, and asks again when told to', async () => {
    const refused = { status: 403, body: { type: '/problems/forbidden', detail: 'Ask an admin for access.' } };
    renderPage('/slides', new FakeApi({ 'GET /me': ME, 'GET /slides': [refused, makePage([makeListedSlide('a.svs')])] }));
    expect(await screen.findByRole('alert')).toHaveTextContent('Ask an admin for access.');
    await expectAccessible();
    await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
    expect(await screen.findByText('a.svs')).toBeVisible();
  });

  it('leads to the slide, whose title takes the focus', async () => {
    const replies = { 'GET /me': ME, 'GET /slides': makePage([makeListedSlide('a.svs')]), 'GET /slides/id-a.svs': { body: makeListedSlide('a.svs') } };
    renderPage('/slides', new FakeApi(replies));
    await userEvent.click(await screen.findByRole('link', { name: 'a.svs' }));
    const title = await screen.findByRole('heading', { level: 1, name: 'a.svs' });
    await waitFor(() => {
      expect(title).toHaveFocus();
    });
    expect(screen.getByText('3.2 GB in 1 file')).toBeVisible();
    await expectAccessible();
  });
});

describe('registering a slide in S3', () => {
  async function opened(api: FakeApi) {
    renderPage('/slides', api);
    await userEvent.click(await screen.findByRole('button', { name: 'Register a slide in S3' }));
    return screen.getByRole('dialog', { name: 'Register a slide in S3' });
  }

  it('sends its address and the scale that is stated, and says that it is being inspected', async () => {
    const api = new FakeApi({
      'GET /me': ME,
      'GET /slides': [makePage([]), makePage([makeListedSlide('case-7.svs', { status: 'UPLOADED' })])],
      'POST /slides': { status: 201, body: makeListedSlide('case-7.svs', { status: 'UPLOADED' }) },
    });
    const dialog = await opened(api);
    await expectAccessible();
    await userEvent.type(within(dialog).getByLabelText('Address'), 's3://archive/2026/case-7.svs');
    await userEvent.type(within(dialog).getByLabelText('Scale (µm per pixel)'), '0,25');
    await userEvent.click(within(dialog).getByRole('button', { name: 'Register' }));
    expect(await screen.findByText('case-7.svs was registered and is being inspected.')).toBeVisible();
    const sent = api.seen.find(({ method }) => method === 'POST');
    expect(sent?.body).toEqual({ s3_uri: 's3://archive/2026/case-7.svs', mpp: 0.25 });
    expect(await screen.findByRole('row', { name: /case-7\.svs/ })).toBeVisible();
    expect(dialog).not.toHaveAttribute('open');
  });

  it('says what is wrong with an address before it is sent, and what the API says of a bucket', async () => {
    const detail = 'This bucket is not on the list of buckets that slides may be registered from. Ask an admin.';
    const api = new FakeApi({
      'GET /me': ME,
      'GET /slides': makePage([]),
      'POST /slides': { status: 403, body: { type: '/problems/forbidden', detail } },
    });
    const dialog = await opened(api);
    await userEvent.type(within(dialog).getByLabelText('Address'), 'C:\\slides\\case-7.svs');
    await userEvent.click(within(dialog).getByRole('button', { name: 'Register' }));
    expect(within(dialog).getByLabelText('Address')).toHaveAccessibleDescription(/Enter an address/);
    expect(api.seen.some(({ method }) => method === 'POST')).toBe(false);
    await userEvent.clear(within(dialog).getByLabelText('Address'));
    await userEvent.type(within(dialog).getByLabelText('Address'), 's3://theirs/case-7.svs');
    await userEvent.click(within(dialog).getByRole('button', { name: 'Register' }));
    expect(await within(dialog).findByRole('alert')).toHaveTextContent(detail);
    await expectAccessible();
  });

  it('is not offered to who only looks', async () => {
    renderPage('/slides', new FakeApi({ 'GET /me': VIEWER, 'GET /slides': makePage([makeListedSlide('a.svs')]) }));
    await screen.findByText('a.svs');
    expect(screen.queryByRole('button', { name: 'Register a slide in S3' })).toBeNull();
  });
});

describe('choosing slides', () => {
  const archived = makeListedSlide('c.svs', { status: 'ARCHIVED', sentence: 'Restore it with POST /slides/c/restore.' });
  const replies = {
    'GET /me': ME,
    'GET /slides': makePage([makeListedSlide('a.svs'), makeListedSlide('b.svs'), archived]),
    'GET /slides?q=zz&limit=50': makePage([]),
  };

  it('leads to a job each, and holds while the list is searched', async () => {
    renderPage('/slides', new FakeApi(replies));
    await userEvent.click(await screen.findByRole('checkbox', { name: 'Select a.svs' }));
    expect(screen.getByText('1 slide selected')).toBeVisible();
    expect(screen.getByRole('link', { name: 'Analyse it' })).toHaveAttribute('href', '/jobs/new?slide=id-a.svs');
    await userEvent.click(screen.getByRole('button', { name: 'Select all shown' }));
    await userEvent.type(screen.getByLabelText('Name'), 'zz');
    expect(await screen.findByRole('heading', { name: 'No slide matches' })).toBeVisible();
    const both = '/jobs/new?slide=id-a.svs&slide=id-b.svs';
    expect(screen.getByRole('link', { name: 'Analyse them' })).toHaveAttribute('href', both);
    await expectAccessible();
    await userEvent.click(screen.getByRole('button', { name: 'Clear selection' }));
    expect(screen.queryByRole('link', { name: 'Analyse them' })).toBeNull();
  });

  it('is not offered for what cannot be analysed, and the page says why in its own words', async () => {
    renderPage('/slides', new FakeApi(replies));
    expect(await screen.findByRole('checkbox', { name: 'Select c.svs' })).toBeDisabled();
    expect(screen.getByText(/This slide is archived/)).toBeVisible();
    expect(screen.queryByText(/POST/)).toBeNull();
  });

  it('is not offered to viewers', async () => {
    renderPage('/slides', new FakeApi({ ...replies, 'GET /me': VIEWER }));
    expect(await screen.findByText('a.svs')).toBeVisible();
    expect(screen.queryByRole('checkbox')).toBeNull();
    expect(screen.queryByRole('link', { name: 'Upload slides' })).toBeNull();
  });

  it('ends at so many as one submission takes', () => {
    const many = Array.from({ length: MOST_SLIDES + 10 }, (_, at) => makeListedSlide(String(at)));
    const all = addAll(new Set(), many);
    expect(all.size).toBe(MOST_SLIDES);
    expect(toggleSlide(all, 'one more')).toEqual(all);
    expect(toggleSlide(all, 'id-0').size).toBe(MOST_SLIDES - 1);
    expect(makeNewJobAddress(all).length).toBeLessThan(4000);
  });
});
