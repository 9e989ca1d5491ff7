import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it } from 'vitest';
import { expectAccessible } from '../../testing/axe';
import { FakeApi, type Reply } from '../../testing/fakes';
import { renderPage } from '../../testing/render';
import type { Slide } from './slides';

const ME: Reply = { body: { tenant: 't', subject: 'user:1', role: 'analyst' } };

function slide(name: string, changes: Partial<Slide> = {}): Slide {
  return {
    slide_id: `id-${name}`,
    name,
    status: 'READY',
    reason: null,
    sentence: null,
    files: 1,
    size: 3_210_000_000,
    digest: null,
    mpp: null,
    optical_path: null,
    focal_plane: null,
    inspection: null,
    restored_until: null,
    created_at: '2026-11-28T12:00:00Z',
    version: 1,
    ...changes,
  };
}

const page = (items: Slide[], next_cursor: string | null = null): Reply => ({ body: { items, next_cursor } });

describe('the list of slides', () => {
  it('shows each with its status in words, its size and why it was rejected', async () => {
    const rejected = slide('b.svs', { status: 'REJECTED', sentence: 'The file does not say its scale.' });
    renderPage('/slides', new FakeApi({ 'GET /me': ME, 'GET /slides': page([slide('a.svs'), rejected]) }));
    expect(await screen.findByRole('row', { name: /a\.svs.*Ready.*3\.2 GB/ })).toBeVisible();
    const row = screen.getByRole('row', { name: /b\.svs/ });
    expect(within(row).getByText('Rejected')).toBeVisible();
    expect(within(row).getByText('The file does not say its scale.')).toBeVisible();
    expect(document.title).toBe('Slides – Tessera');
    await expectAccessible();
  });

  it('shows what a slide looks like, and keeps the place where there is no picture', async () => {
    const rejected = slide('b.svs', { status: 'REJECTED' });
    const api = new FakeApi({
      'GET /me': ME,
      'GET /slides': page([slide('a.svs'), rejected]),
      'GET /slides/id-a.svs/thumbnail': { body: 'bytes' },
    });
    const { container } = renderPage('/slides', api);
    await waitFor(() => {
      expect(container.querySelector('td img')).toHaveAttribute('src', 'blob:thumbnail');
    });
    expect(container.querySelectorAll('td img')).toHaveLength(1);
    expect(api.seen.map(({ address }) => address)).not.toContain('/slides/id-b.svs/thumbnail');
    expect(api.seen.find(({ address }) => address.endsWith('thumbnail'))?.headers.get('Accept')).toBe('image/jpeg');
    await expectAccessible();
  });

  it('goes on at the cursor when more are asked for', async () => {
    const api = new FakeApi({ 'GET /me': ME, 'GET /slides': [page([slide('a.svs')], 'c1'), page([slide('b.svs')])] });
    renderPage('/slides', api);
    await userEvent.click(await screen.findByRole('button', { name: 'Show more' }));
    expect(await screen.findByText('b.svs')).toBeVisible();
    expect(screen.getByText('a.svs')).toBeVisible();
    expect(screen.queryByRole('button', { name: 'Show more' })).toBeNull();
    expect(api.seen.map(({ address }) => address)).toContain('/slides?cursor=c1&limit=50');
  });

  it('asks by name and status, and says so when nothing matches', async () => {
    const api = new FakeApi({ 'GET /me': ME, 'GET /slides': [page([slide('a.svs')]), page([])] });
    renderPage('/slides?status=READY', api);
    await userEvent.type(await screen.findByLabelText('Name'), 'zz ');
    expect(await screen.findByRole('heading', { name: 'No slide matches' })).toBeVisible();
    expect(api.seen.map(({ address }) => address)).toContain('/slides?q=zz&status=READY&limit=50');
    await expectAccessible();
  });

  it('is empty in the words of a new organisation', async () => {
    renderPage('/slides', new FakeApi({ 'GET /me': ME, 'GET /slides': page([]) }));
    expect(await screen.findByRole('heading', { name: 'No slides yet' })).toBeVisible();
    await expectAccessible();
  });

  it('shows the sentence of a refusal, and asks again when told to', async () => {
    const refused = { status: 403, body: { type: '/problems/forbidden', detail: 'Ask an admin for access.' } };
    renderPage('/slides', new FakeApi({ 'GET /me': ME, 'GET /slides': [refused, page([slide('a.svs')])] }));
    expect(await screen.findByRole('alert')).toHaveTextContent('Ask an admin for access.');
    await expectAccessible();
    await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
    expect(await screen.findByText('a.svs')).toBeVisible();
  });

  it('leads to the slide, whose title takes the focus', async () => {
    const replies = { 'GET /me': ME, 'GET /slides': page([slide('a.svs')]), 'GET /slides/id-a.svs': { body: slide('a.svs') } };
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
