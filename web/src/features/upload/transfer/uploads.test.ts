import { waitFor } from '@testing-library/react';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { TabLocks } from './tab_locks';
import { shareTabLocks } from '../testing/fake_tab_locks';
import { FakeStore } from '../testing/fake_store';
import type { SlideToSend } from '../picking/slide_grouping';
import { remember, readRemembered } from './remembered_uploads';
import { NO_OPTIONS, UploadServer } from './upload_server';
import { digestSha256 } from './sha256';
import { Uploads } from './uploads';

const begun: Uploads[] = [];

afterEach(() => {
  for (const uploads of begun.splice(0)) uploads.stop();
});

function uploadsTo(store: FakeStore, locks: TabLocks = shareTabLocks()()): Uploads {
  const uploads = new Uploads({
    server: new UploadServer(store.client()),
    digest: digestSha256,
    put: store.put,
    locks,
    pause: (_, signal) => (signal.throwIfAborted(), Promise.resolve()),
    now: () => performance.now(),
    onSlidesChange: () => undefined,
  });
  begun.push(uploads);
  return uploads;
}

function slide(name: string, ...contents: string[]): SlideToSend {
  const files = contents.map((content, index) => ({ name: index === 0 ? name : `${name}/${index}`, file: new File([content], name) }));
  return { name, files, size: contents.join('').length, folder: '' };
}

const phases = (uploads: Uploads) => uploads.current().lines.map(({ phase }) => phase);
const reach = (uploads: Uploads, ...wanted: string[]) => waitFor(() => { expect(phases(uploads)).toEqual(wanted); });

/** Parts whose number is above `last` do not get through until it is opened. */
function dam(store: FakeStore, last: number): () => void {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  store.gate = (part) => (Number(part.split('/')[1]) > last ? opened : Promise.resolve());
  return open;
}

describe('uploads', () => {
  it('bring every part of every file, four at a time over all slides, and end with the inspection', async () => {
    const store = new FakeStore();
    const open = dam(store, 0);
    const uploads = uploadsTo(store);
    uploads.add([slide('a.svs', '0123456789abcdef0123'), slide('b.mrxs', 'abcdef', 'ghi')], NO_OPTIONS);
    await waitFor(() => { expect(store.most).toBe(4); });
    open();
    await reach(uploads, 'ready', 'ready');
    expect(store.of('a.svs').parts.size).toBe(5);
    expect([...store.of('b.mrxs').parts.keys()].sort()).toEqual(['0/1', '0/2', '1/1']);
    expect(store.most).toBe(4);
    expect(uploads.current().total).toMatchObject({ count: 2, uploadedCount: 2, size: 29, arrived: 29 });
    expect(readRemembered()).toEqual([]);
  });

  it('tell what was stated of a slide, and why it was rejected', async () => {
    const store = new FakeStore();
    store.verdict = { status: 'REJECTED', sentence: 'The file was cut short.' };
    const uploads = uploadsTo(store);
    uploads.add([slide('a.svs', 'abc')], { ...NO_OPTIONS, mpp: 0.25 });
    await reach(uploads, 'rejected');
    expect(uploads.current().lines[0]?.sentence).toBe('The file was cut short.');
    expect(store.of('a.svs').slide.mpp).toBe(0.25);
  });

  it('send a part again that did not get through, to a fresh address', async () => {
    const store = new FakeStore();
    store.brokenPuts = 3;
    const uploads = uploadsTo(store);
    uploads.add([slide('a.svs', 'abcdefgh')], NO_OPTIONS);
    await reach(uploads, 'ready');
    const grants = store.seen.filter(({ method, address }) => method === 'POST' && address === '/uploads/s0/parts');
    expect(grants).toHaveLength(2 + 3);
    expect(store.puts).toHaveLength(2);
  });

  it('stop with a sentence when nothing gets through, and go on when the connection is back', async () => {
    const store = new FakeStore();
    store.brokenPuts = 1000;
    const uploads = uploadsTo(store);
    uploads.add([slide('a.svs', 'abcdefgh')], NO_OPTIONS);
    await reach(uploads, 'failed');
    expect(uploads.current().lines[0]?.sentence).toBe('A part could not be sent.');
    store.brokenPuts = 0;
    uploads.resumeAll({ broken: true });
    await reach(uploads, 'ready');
  });

  it('go on after a reload without sending what has arrived', async () => {
    const store = new FakeStore();
    dam(store, 3);
    const before = uploadsTo(store);
    before.add([slide('a.svs', '0123456789abcdef0123')], NO_OPTIONS);
    await waitFor(() => { expect(store.puts).toHaveLength(3); });
    before.stop(); // what a reload does
    expect(readRemembered()).toEqual(['s0']);

    dam(store, 100);
    store.puts.length = 0;
    const after = uploadsTo(store);
    after.add([slide('a.svs', '0123456789abcdef0123')], NO_OPTIONS);
    await reach(after, 'ready');
    expect(store.puts.sort()).toEqual(['0/4', '0/5']);
    expect(store.uploads.size).toBe(1);
  });

  it('are sent by one tab at a time, and by another one once that has left', async () => {
    const store = new FakeStore();
    const open = dam(store, 2);
    const tab = shareTabLocks();
    const [one, other] = [uploadsTo(store, tab()), uploadsTo(store, tab())];
    one.add([slide('a.svs', '0123456789abcdef')], NO_OPTIONS);
    await waitFor(() => { expect(store.puts).toHaveLength(2); });
    expect(await other.lockedIds()).toEqual(new Set(['s0']));
    other.add([slide('a.svs', '0123456789abcdef')], NO_OPTIONS);
    await reach(other, 'failed');
    expect(other.current().lines[0]?.sentence).toBe('It is being uploaded in another tab of this browser.');
    expect(store.uploads.size).toBe(1);
    one.stop();
    expect(await other.lockedIds()).toEqual(new Set());
    open();
    other.resume('0');
    await reach(other, 'ready');
    expect(store.uploads.size).toBe(1);
    expect(await other.lockedIds()).toEqual(new Set());
  });

  it('begin anew with another file of the same name and size', async () => {
    const store = new FakeStore();
    dam(store, 1);
    const before = uploadsTo(store);
    before.add([slide('a.svs', 'first slide.')], NO_OPTIONS);
    await waitFor(() => { expect(store.puts).toHaveLength(1); });
    before.stop();
    dam(store, 100);
    const after = uploadsTo(store);
    after.add([slide('a.svs', 'other slide.')], NO_OPTIONS);
    await reach(after, 'ready');
    expect(store.uploads.size).toBe(2);
    expect(store.of('a.svs').slide.status).toBe('UPLOADING');
  });

  it('send again what arrived of a file that was changed meanwhile', async () => {
    const store = new FakeStore();
    dam(store, 2);
    const before = uploadsTo(store);
    before.add([slide('a.svs', 'aaaabbbbcccc')], NO_OPTIONS);
    await waitFor(() => { expect(store.puts).toHaveLength(2); });
    before.stop();
    dam(store, 100);
    store.puts.length = 0;
    const after = uploadsTo(store);
    after.add([slide('a.svs', 'aaaaXXXXcccc')], NO_OPTIONS);
    await reach(after, 'ready');
    expect(store.puts.sort()).toEqual(['0/2', '0/3']);
  });

  it('stand still while they are paused, and send only the rest afterwards', async () => {
    const store = new FakeStore();
    dam(store, 2);
    const uploads = uploadsTo(store);
    uploads.add([slide('a.svs', '0123456789abcdef')], NO_OPTIONS);
    await waitFor(() => { expect(store.puts).toHaveLength(2); });
    uploads.pauseAll();
    expect(phases(uploads)).toEqual(['paused']);
    expect(uploads.current()).toMatchObject({ isSending: false, isActive: false });
    dam(store, 100);
    uploads.resumeAll();
    await reach(uploads, 'ready');
    expect(store.puts.sort()).toEqual(['0/1', '0/2', '0/3', '0/4']);
  });

  it('are aborted at the server when they are cancelled', async () => {
    const store = new FakeStore();
    dam(store, 1);
    const uploads = uploadsTo(store);
    uploads.add([slide('a.svs', '0123456789abcdef')], NO_OPTIONS);
    await waitFor(() => { expect(store.puts).toHaveLength(1); });
    await uploads.cancel('0');
    expect(phases(uploads)).toEqual(['cancelled']);
    expect(store.of('a.svs').slide.status).toBe('DELETED');
    expect(readRemembered()).toEqual([]);
    uploads.remove(['0']);
    expect(uploads.current().lines).toEqual([]);
  });

  it('are ended by a second try when the server ended them unheard', async () => {
    const store = new FakeStore();
    store.lostCompletions = 8;
    const uploads = uploadsTo(store);
    uploads.add([slide('a.svs', 'abcdefgh')], NO_OPTIONS);
    await reach(uploads, 'failed');
    expect(uploads.current().lines[0]?.sentence).toBe('Try again in a minute.');
    uploads.resume('0');
    await reach(uploads, 'ready');
    expect(store.puts).toHaveLength(2);
  });

  it('survive a pause and a resumption while they begin', async () => {
    const store = new FakeStore();
    remember('of another day');
    const uploads = uploadsTo(store);
    uploads.add([slide('a.svs', 'abc')], NO_OPTIONS);
    uploads.pause('0');
    uploads.resume('0');
    await reach(uploads, 'ready');
    expect(store.uploads.size).toBe(1);
  });

  it('leave nothing at the server when they are cancelled while they begin', async () => {
    const store = new FakeStore();
    remember('of another day');
    const uploads = uploadsTo(store);
    uploads.add([slide('a.svs', 'abc')], NO_OPTIONS);
    await uploads.cancel('0');
    expect(phases(uploads)).toEqual(['cancelled']);
    expect([...store.uploads.values()].every(({ slide: { status } }) => status === 'DELETED')).toBe(true);
    expect(store.puts).toEqual([]);
  });

  it('say so when a file cannot be read any more, and go on when it is chosen again', async () => {
    const store = new FakeStore();
    const uploads = uploadsTo(store);
    const lost = slide('a.svs', 'abcdefgh');
    const file = lost.files[0]?.file;
    if (!file) throw new Error('The slide has a file.');
    const broken = Object.assign(new Blob(['abcd']), { arrayBuffer: () => Promise.reject(new DOMException('', 'NotReadableError')) });
    const reading = vi.spyOn(file, 'slice').mockReturnValue(broken);
    uploads.add([lost], NO_OPTIONS);
    await reach(uploads, 'failed');
    expect(uploads.current().lines[0]?.sentence).toMatch(/^The file cannot be read any more/);
    reading.mockRestore();
    uploads.add([{ ...lost }], NO_OPTIONS);
    await reach(uploads, 'ready');
  });

  it('are not doubled by dropping the same file twice', async () => {
    const store = new FakeStore();
    const open = dam(store, 0);
    const uploads = uploadsTo(store);
    const one = slide('a.svs', 'abc');
    uploads.add([one], NO_OPTIONS);
    uploads.add([{ ...one }], NO_OPTIONS);
    expect(uploads.current().ignored).toEqual([{ path: 'a.svs', reason: 'It is already being uploaded.' }]);
    open();
    await reach(uploads, 'ready');
  });
});
