import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it } from 'vitest';
import { expectAccessible } from '../../testing/axe';
import { FakeApi } from '../../testing/fakes';
import { ADMIN, ME, VIEWER, makePage } from '../../testing/replies';
import { renderPage } from '../../testing/render';
import type { Slide } from './queries';
import { INSPECTION, makeListedSlide } from './testing';

function api(changes: Partial<Slide> = {}, replies: ConstructorParameters<typeof FakeApi>[0] = {}): FakeApi {
  return new FakeApi({
    'GET /me': ME,
    'GET /slides': makePage([]),
    'GET /slides/id-a.svs': { body: makeListedSlide('a.svs', { inspection: INSPECTION, digest: 'f00d', ...changes }) },
    'GET /slides/id-a.svs/thumbnail': { body: 'bytes' },
    'GET /jobs': makePage([]),
    ...replies,
  });
}

const JOB = { job_id: 'j1', model: 'stain-density', model_version: '1.0', label: 'study 7', created_at: '2026-11-28T12:00:00Z', created_by: 'ada@hospital.example' };

describe('the page of a slide', () => {
  it('tells what inspection found in words, with its warnings', async () => {
    renderPage('/slides/id-a.svs', api());
    expect(await screen.findByText('0.499 µm per pixel, from the scanner')).toBeVisible();
    expect(screen.getByText('46,000 × 32,914 pixels, 23 × 16.4 mm')).toBeVisible();
    expect(screen.getByText('123 mm², 33 % of the slide')).toBeVisible();
    expect(screen.getByText('Aperio SVS, 4 levels of zoom')).toBeVisible();
    expect(screen.getByText(/colour profile/)).toBeVisible();
    expect(screen.getByText('f00d')).toBeVisible();
    const warnings = screen.getByRole('region', { name: 'Warnings from inspection' });
    expect(warnings).toHaveTextContent('Pen marks cover 3.1%');
    await expectAccessible();
  });

  it('tells what was stated, and why it is read from a copy', async () => {
    const inspection = { ...INSPECTION, mpp_source: 'override', reading_path: 'scratch', path_reason: 'JPEG 2000 with gaps.' };
    renderPage('/slides/id-a.svs', api({ inspection, mpp: 0.499, focal_plane: 3, picture: 2 }));
    expect(await screen.findByText('0.499 µm per pixel, as stated by a user')).toBeVisible();
    expect(screen.getByText(/read from a copy, which takes longer: JPEG 2000 with gaps/)).toBeVisible();
    expect(screen.getByText('3, as chosen by a user')).toBeVisible();
    expect(screen.getByText('2 in the file, as chosen by a user')).toBeVisible();
  });

  it('says of a de-identified slide what was removed, as counts', async () => {
    renderPage('/slides/id-a.svs', api({ deidentify: true, deidentified: true, removed: { images: 2, tags: 33, files: 0 } }));
    expect(await screen.findByText('Label and identifiers were removed: 2 images and 33 values')).toBeVisible();
    await expectAccessible();
  });

  it('says when there was nothing to remove, and nothing of it for other slides', async () => {
    const { unmount } = renderPage('/slides/id-a.svs', api({ deidentify: true, deidentified: true, removed: { images: 0, tags: 0, files: 0 } }));
    expect(await screen.findByText('The file contained no label and no identifiers')).toBeVisible();
    unmount();
    renderPage('/slides/id-a.svs', api());
    expect(await screen.findByText('Fingerprint')).toBeVisible();
    expect(screen.queryByText('De-identified')).toBeNull();
  });

  it('leads to the viewer, to a new job and to its jobs', async () => {
    const jobs = makePage([{ ...JOB, status: 'RUNNING', progress: 0.42 }]);
    renderPage('/slides/id-a.svs', api({}, { 'GET /jobs?slide_id=id-a.svs&limit=10': jobs }));
    expect(await screen.findByRole('link', { name: 'View it' })).toHaveAttribute('href', '/view/id-a.svs');
    expect(screen.getByRole('link', { name: 'Analyse it' })).toHaveAttribute('href', '/jobs/new?slide=id-a.svs');
    expect(await screen.findByRole('link', { name: 'stain-density 1.0' })).toHaveAttribute('href', '/jobs/j1');
    expect(screen.getByRole('row', { name: /study 7.*Running42 %/ })).toBeVisible();
    await expectAccessible();
  });

  it('offers a viewer nothing that the API would refuse', async () => {
    renderPage('/slides/id-a.svs', api({}, { 'GET /me': VIEWER }));
    expect(await screen.findByRole('link', { name: 'View it' })).toBeVisible();
    for (const name of ['Archive', 'Delete']) expect(screen.queryByRole('button', { name })).toBeNull();
    expect(screen.queryByRole('link', { name: 'Analyse it' })).toBeNull();
  });

  it('of a rejected slide gives the reason, and the way to upload it again', async () => {
    const sentence = 'The file ends before its last tile. Export or upload the slide again.';
    renderPage('/slides/id-a.svs', api({ status: 'REJECTED', sentence, inspection: null }));
    expect(await screen.findByText(sentence)).toBeVisible();
    expect(screen.getByRole('link', { name: 'Upload it again' })).toHaveAttribute('href', '/upload');
    expect(screen.queryByRole('link', { name: 'View it' })).toBeNull();
    await expectAccessible();
  });
});

describe('what is done with a slide', () => {
  it('is asked about first, and leaving it changes nothing', async () => {
    const fake = api();
    renderPage('/slides/id-a.svs', fake);
    await userEvent.click(await screen.findByRole('button', { name: 'Delete' }));
    const dialog = screen.getByRole('dialog', { name: 'Delete this slide?' });
    expect(dialog).toHaveTextContent(/a.svs.*deleted permanently.*cannot be undone/);
    await expectAccessible(dialog);
    await userEvent.click(within(dialog).getByRole('button', { name: 'Keep it as it is' }));
    expect(screen.queryByRole('dialog')).toBeNull();
    expect(fake.seen.filter(({ method }) => method !== 'GET')).toEqual([]);
  });

  it('deletes it, tells so and goes back to the slides', async () => {
    const fake = api({}, { 'DELETE /slides/id-a.svs': { status: 204 } });
    renderPage('/slides/id-a.svs', fake);
    await userEvent.click(await screen.findByRole('button', { name: 'Delete' }));
    await userEvent.click(within(screen.getByRole('dialog')).getByRole('button', { name: 'Delete' }));
    expect(await screen.findByRole('heading', { level: 1, name: 'Slides' })).toBeVisible();
    expect(screen.getByText('a.svs was deleted.')).toBeVisible();
    expect(fake.seen.filter(({ address }) => address === '/slides/id-a.svs' ).map(({ method }) => method)).toEqual(['GET', 'DELETE']);
  });

  it('is held by an admin, and then deleted by nobody', async () => {
    const held = { body: makeListedSlide('a.svs', { legal_hold: true }) };
    const fake = api({}, { 'GET /me': ADMIN, 'PUT /slides/id-a.svs/legal-hold': held });
    renderPage('/slides/id-a.svs', fake);
    await userEvent.click(await screen.findByRole('button', { name: 'Hold' }));
    const dialog = screen.getByRole('dialog', { name: 'Begin a legal hold?' });
    await expectAccessible(dialog);
    await userEvent.click(within(dialog).getByRole('button', { name: 'Hold' }));
    expect(await screen.findByText('a.svs is under legal hold.')).toBeVisible();
    expect(fake.seen.find(({ method }) => method === 'PUT')?.body).toEqual({ held: true });
  });

  it('under a hold offers no deletion, and to admins its end', async () => {
    const { unmount } = renderPage('/slides/id-a.svs', api({ legal_hold: true }));
    expect(await screen.findByText(/until an admin ends the hold/)).toBeVisible();
    for (const name of ['Delete', 'Hold', 'End the hold']) expect(screen.queryByRole('button', { name })).toBeNull();
    unmount();
    const fake = api({ legal_hold: true }, { 'GET /me': ADMIN, 'PUT /slides/id-a.svs/legal-hold': { body: makeListedSlide('a.svs') } });
    renderPage('/slides/id-a.svs', fake);
    await userEvent.click(await screen.findByRole('button', { name: 'End the hold' }));
    await userEvent.click(within(screen.getByRole('dialog')).getByRole('button', { name: 'End the hold' }));
    expect(await screen.findByText('The hold of a.svs has ended.')).toBeVisible();
    expect(fake.seen.find(({ method }) => method === 'PUT')?.body).toEqual({ held: false });
  });

  it('leaves no name of a slide in the browser: not in its storage, nor in its history of tabs', async () => {
    renderPage('/slides/id-a.svs', api());
    expect(await screen.findByRole('heading', { level: 1, name: 'a.svs' })).toBeVisible();
    expect(document.title).toBe('Slide – Tessera');
    expect(JSON.stringify([localStorage, sessionStorage])).not.toContain('a.svs');
  });

  it('shows why it was refused, where it was asked', async () => {
    const refused = { status: 409, body: { type: '/problems/conflict', detail: 'A job is running on this slide.' } };
    renderPage('/slides/id-a.svs', api({}, { 'POST /slides/id-a.svs/archive': refused }));
    await userEvent.click(await screen.findByRole('button', { name: 'Archive' }));
    await userEvent.click(within(screen.getByRole('dialog')).getByRole('button', { name: 'Archive' }));
    expect(await within(screen.getByRole('dialog')).findByRole('alert')).toHaveTextContent('A job is running on this slide.');
  });

  it('restores it as soon as is chosen', async () => {
    const restoring = { status: 202, body: makeListedSlide('a.svs', { status: 'RESTORING' }) };
    const fake = api({ status: 'ARCHIVED' }, { 'POST /slides/id-a.svs/restore': restoring });
    renderPage('/slides/id-a.svs', fake);
    await userEvent.click(await screen.findByRole('button', { name: 'Restore' }));
    const dialog = within(screen.getByRole('dialog'));
    await userEvent.selectOptions(dialog.getByLabelText('When you need it'), 'bulk');
    await userEvent.click(dialog.getByRole('button', { name: 'Restore' }));
    expect(await screen.findByText('a.svs is being restored.')).toBeVisible();
    await waitFor(() => {
      expect(fake.seen.find(({ method }) => method === 'POST')?.body).toEqual({ tier: 'bulk' });
    });
  });
});
