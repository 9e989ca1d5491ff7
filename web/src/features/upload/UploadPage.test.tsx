import { QueryClientProvider } from '@tanstack/react-query';
import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { MemoryRouter } from 'react-router';
import { afterEach, describe, expect, it } from 'vitest';
import { ApiContext } from '../../api/context';
import { makeQueryClient } from '../../app/App';
import { expectAccessible } from '../../testing/axe';
import { FakeApi } from '../../testing/fakes';
import { renderPage } from '../../testing/render';
import { Toasts } from '../../ui/messages/Toasts';
import { UploadsContext } from './context';
import { shareTabLocks } from './testing/fake_tab_locks';
import { FakeStore } from './testing/fake_store';
import { HeaderProgress } from './progress/HeaderProgress';
import { remember } from './transfer/remembered_uploads';
import { NO_OPTIONS, UploadServer } from './transfer/upload_server';
import { digestSha256 } from './transfer/sha256';
import UploadPage from './UploadPage';
import { Uploads } from './transfer/uploads';

let uploads: Uploads | null = null;

afterEach(() => {
  uploads?.stop();
});

/** The page with its header's part, on a store in memory. */
function open(store: FakeStore) {
  const api = store.client();
  const means = { digest: digestSha256, put: store.put, locks: shareTabLocks()(), now: () => performance.now(), onSlidesChange: () => undefined };
  uploads = new Uploads({ ...means, server: new UploadServer(api), pause: () => Promise.resolve() });
  render(
    <ApiContext value={api}>
      <Toasts>
        <QueryClientProvider client={makeQueryClient()}>
          <MemoryRouter>
            <UploadsContext value={uploads}>
              <header>
                <HeaderProgress />
              </header>
              <main>
                <UploadPage />
              </main>
            </UploadsContext>
          </MemoryRouter>
        </QueryClientProvider>
      </Toasts>
    </ApiContext>,
  );
}

const choose = async (...files: File[]) => {
  await userEvent.upload(await screen.findByLabelText('Files of slides'), files);
};
const slide = (name: string, content = 'abcdefgh') => new File([content], name);

function closed(): { store: FakeStore; openUp: () => void } {
  const store = new FakeStore();
  let openUp = () => {};
  const opened = new Promise<void>((resolve) => (openUp = resolve));
  store.gate = () => opened;
  return { store, openUp };
}

describe('the page Upload', () => {
  it('uploads what is chosen, and leads to the slide once it is ready', async () => {
    const { store, openUp } = closed();
    open(store);
    await choose(slide('a.svs'), slide('notes.txt'));
    expect(await screen.findByRole('button', { name: 'Pause a.svs' })).toBeVisible();
    expect(screen.getByRole('region', { name: 'Not uploaded' })).toHaveTextContent('notes.txt: It is no whole-slide image');
    expect(screen.getByRole('link', { name: /Uploading \d+ %/ })).toHaveAttribute('href', '/upload');
    expect(screen.getByText('0 of 1 slide uploaded')).toBeVisible();
    await expectAccessible();
    openUp();
    expect(await screen.findByRole('link', { name: 'a.svs' })).toHaveAttribute('href', '/slides/s0');
    expect(screen.queryByRole('link', { name: /Uploading/ })).toBeNull();
    await expectAccessible();
    await userEvent.click(screen.getByRole('button', { name: 'Clear finished' }));
    expect(screen.queryByRole('region', { name: 'Uploads' })).toBeNull();
  });

  it('asks for de-identification while it is wanted, and remembers that in this browser', async () => {
    const store = new FakeStore();
    open(store);
    const box = await screen.findByRole('checkbox', { name: 'Remove label and identifiers' });
    expect(box).not.toBeChecked();
    expect(box).toHaveAccessibleDescription(/everything that may identify a patient are permanently removed/);
    await choose(slide('as-it-is.svs'));
    expect(await screen.findByRole('link', { name: 'as-it-is.svs' })).toBeVisible();
    await userEvent.click(box);
    await choose(slide('Doe.svs'));
    expect(await screen.findByRole('link', { name: 'Doe.svs' })).toBeVisible();
    expect(screen.getByText(/to be de-identified/)).toBeVisible();
    expect([store.of('as-it-is.svs').slide.deidentify, store.of('Doe.svs').slide.deidentify]).toEqual([false, true]);
    await expectAccessible();
    cleanup();
    open(new FakeStore());
    const again = await screen.findByRole('checkbox', { name: 'Remove label and identifiers' });
    expect(again).toBeChecked();
    await userEvent.click(again);
    expect(localStorage.getItem('tessera.deidentify')).toBeNull();
  });

  it('takes files that are dropped anywhere on it', async () => {
    open(new FakeStore());
    await screen.findByLabelText('Files of slides');
    const item = { kind: 'file', webkitGetAsEntry: () => null, getAsFile: () => slide('dropped.svs') };
    fireEvent.drop(window, { dataTransfer: { types: ['Files'], items: [item] } });
    expect(await screen.findByRole('link', { name: 'dropped.svs' })).toBeVisible();
  });

  it('shows why a slide was rejected', async () => {
    const store = new FakeStore();
    store.verdict = { status: 'REJECTED', sentence: 'The file does not say its scale.' };
    open(store);
    await choose(slide('a.svs'));
    expect(await screen.findByText('The file does not say its scale.')).toBeVisible();
    expect(screen.getByText('Rejected')).toBeVisible();
    await expectAccessible();
  });

  it('pauses, resumes, and cancels after asking', async () => {
    const { store } = closed();
    open(store);
    await choose(slide('a.svs'));
    await userEvent.click(await screen.findByRole('button', { name: 'Pause a.svs' }));
    expect(screen.getByText('Paused')).toBeVisible();
    await userEvent.click(screen.getByRole('button', { name: 'Resume a.svs' }));
    await userEvent.click(await screen.findByRole('button', { name: 'Cancel a.svs' }));
    const dialog = screen.getByRole('dialog', { name: 'Cancel this upload?' });
    await expectAccessible();
    await userEvent.click(within(dialog).getByRole('button', { name: 'Cancel the upload' }));
    expect(await screen.findByText('Cancelled')).toBeVisible();
    await waitFor(() => {
      expect(store.of('a.svs').slide.status).toBe('DELETED');
    });
    await userEvent.click(screen.getByRole('button', { name: 'Remove a.svs from this list' }));
    expect(screen.getByRole('heading', { level: 1 })).toHaveFocus();
  });

  it('names uploads that broke off, and drops one when told to', async () => {
    const store = new FakeStore();
    const server = new UploadServer(store.client());
    const size = 8;
    await server.begin({ name: 'b.svs', folder: '', size, files: [{ name: 'b.svs', file: slide('b.svs') }] }, NO_OPTIONS);
    remember('s0');
    const stored = JSON.stringify([localStorage, sessionStorage]);
    expect(stored).toContain('s0'); // ids alone
    expect(stored).not.toContain('b.svs');
    store.of('b.svs').parts.set('0/1', { size: 4, sha256: '' });
    open(store);
    expect(await screen.findByText(/4 bytes of 8 bytes have arrived · started 28 Nov 2026/)).toBeVisible();
    await expectAccessible();
    await userEvent.click(screen.getByRole('button', { name: 'Cancel b.svs' }));
    await userEvent.click(screen.getByRole('button', { name: 'Cancel the upload' }));
    await waitFor(() => {
      expect(screen.queryByRole('heading', { name: 'Unfinished uploads' })).toBeNull();
    });
    expect(store.of('b.svs').slide.status).toBe('DELETED');
  });

  it('takes what the file does not say, for what is added next alone', async () => {
    const store = new FakeStore();
    open(store);
    await userEvent.click(await screen.findByText('Advanced: what the file does not state'));
    const scale = screen.getByLabelText('Scale (µm per pixel)');
    await userEvent.type(scale, 'x');
    await choose(slide('a.svs'));
    expect(await screen.findByText(/Correct the advanced fields first/)).toBeVisible();
    expect(store.uploads.size).toBe(0);
    await userEvent.clear(scale);
    await userEvent.type(scale, '0.25');
    await choose(slide('a.svs'));
    expect(await screen.findByText(/0.25 µm per pixel stated/)).toBeVisible();
    expect(scale).toHaveValue('');
    expect(store.of('a.svs').slide.mpp).toBe(0.25);
  });

  it('is not offered to those who may only look', async () => {
    const me = { body: { tenant: 't', subject: 'user:1', role: 'viewer' } };
    renderPage('/upload', new FakeApi({ 'GET /me': me }));
    expect(await screen.findByRole('heading', { name: 'Your role cannot upload slides' })).toBeVisible();
    expect(screen.queryByRole('link', { name: 'Upload' })).toBeNull();
    await expectAccessible();
  });
});
