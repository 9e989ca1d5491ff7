import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it } from 'vitest';
import { expectAccessible } from '../../testing/axe';
import { FakeApi } from '../../testing/fakes';
import { ME, VIEWER, makePage } from '../../testing/replies';
import { renderPage } from '../../testing/render';
import type { Slide } from './queries';
import { INSPECTION, makeListedSlide } from './testing';

const ADDRESS = '/slides/id-a.svs';

function api(changes: Partial<Slide>, replies: ConstructorParameters<typeof FakeApi>[0] = {}): FakeApi {
  return new FakeApi({
    'GET /me': ME,
    [`GET ${ADDRESS}`]: { body: makeListedSlide('a.svs', changes) },
    [`GET ${ADDRESS}/thumbnail`]: { body: 'bytes' },
    'GET /jobs': makePage([]),
    ...replies,
  });
}

const NO_SCALE: Partial<Slide> = {
  status: 'REJECTED',
  reason: 'no_mpp',
  sentence: 'The file does not say its scale: state it with the slide (`mpp`).',
};

async function opened() {
  await userEvent.click(await screen.findByRole('button', { name: 'Correct' }));
  return screen.getByRole('dialog', { name: 'Correct this slide' });
}

describe('the correction of a slide', () => {
  it('states the scale of a rejected slide, which is inspected again', async () => {
    const inspected = makeListedSlide('a.svs', { status: 'UPLOADED', mpp: 0.25, version: 4 });
    const fake = api(NO_SCALE, { [`PATCH ${ADDRESS}`]: { body: inspected } });
    renderPage(ADDRESS, fake);
    const dialog = await opened();
    expect(dialog).toHaveTextContent('state it with the slide (“Scale”, under “Correct” on the slide’s page)');
    await expectAccessible(dialog);
    await userEvent.type(within(dialog).getByLabelText('Scale (µm per pixel)'), '0,25');
    await userEvent.click(within(dialog).getByRole('button', { name: 'Inspect it again' }));
    expect(await screen.findByText('a.svs is being inspected again.')).toBeVisible();
    expect(screen.queryByRole('dialog')).toBeNull();
    expect(screen.getByText('Being inspected')).toBeVisible();
    const body = { mpp: 0.25, optical_path: null, focal_plane: null, picture: null };
    expect(fake.seen.find(({ method }) => method === 'PATCH')?.body).toEqual(body);
  });

  it('begins with what was stated, so that an emptied field takes it back', async () => {
    const stated = { inspection: INSPECTION, mpp: 0.5, optical_path: '2', focal_plane: 3, picture: 4 };
    const fake = api(stated, { [`PATCH ${ADDRESS}`]: { body: makeListedSlide('a.svs', { status: 'UPLOADED', version: 4 }) } });
    renderPage(ADDRESS, fake);
    const dialog = within(await opened());
    expect(dialog.getByText(/Results of its jobs do not change/)).toBeVisible();
    expect(dialog.getByLabelText('Image')).toHaveValue('4');
    expect(dialog.getByLabelText('Focal plane')).toHaveValue('3');
    await userEvent.clear(dialog.getByLabelText('Optical path'));
    await userEvent.click(dialog.getByRole('button', { name: 'Inspect it again' }));
    const body = { mpp: 0.5, optical_path: null, focal_plane: 3, picture: 4 };
    await waitFor(() => {
      expect(fake.seen.find(({ method }) => method === 'PATCH')?.body).toEqual(body);
    });
  });

  it('sends nothing that the API would refuse, and says what would be right', async () => {
    const fake = api(NO_SCALE);
    renderPage(ADDRESS, fake);
    const dialog = within(await opened());
    await userEvent.type(dialog.getByLabelText('Image'), '0');
    await userEvent.click(dialog.getByRole('button', { name: 'Inspect it again' }));
    expect(dialog.getByText('Enter a whole number from 1.')).toBeVisible();
    expect(fake.seen.filter(({ method }) => method === 'PATCH')).toEqual([]);
  });

  it('shows why it was refused, where it was asked', async () => {
    const refused = { status: 409, body: { type: '/problems/conflict', detail: 'A job is running on this slide.' } };
    renderPage(ADDRESS, api({ inspection: INSPECTION }, { [`PATCH ${ADDRESS}`]: refused }));
    const dialog = within(await opened());
    await userEvent.click(dialog.getByRole('button', { name: 'Inspect it again' }));
    expect(await dialog.findByRole('alert')).toHaveTextContent('A job is running on this slide.');
  });

  it('says so where nothing was changed', async () => {
    const same = makeListedSlide('a.svs', { inspection: INSPECTION });
    renderPage(ADDRESS, api({ inspection: INSPECTION }, { [`PATCH ${ADDRESS}`]: { body: same } }));
    const dialog = within(await opened());
    await userEvent.click(dialog.getByRole('button', { name: 'Inspect it again' }));
    expect(await screen.findByText('a.svs was not changed.')).toBeVisible();
  });

  it.each([
    ['a slide that is cut short', { status: 'REJECTED', reason: 'truncated', sentence: 'The file ends early.' }, ME],
    ['one whose files a refused de-identification deleted', { ...NO_SCALE, deidentify: true }, ME],
    ['one that is archived', { status: 'ARCHIVED' }, ME],
    ['a viewer', NO_SCALE, VIEWER],
  ] as const)('is not offered for %s', async (_, changes, me) => {
    renderPage(ADDRESS, api(changes, { 'GET /me': me }));
    expect(await screen.findByText('Added')).toBeVisible();
    expect(screen.queryByRole('button', { name: 'Correct' })).toBeNull();
  });
});
