/** A fake API with S3 behind it: uploads in parts of four bytes, with a record of what arrived. */
import { FakeApi, type Reply } from '../../../testing/fakes';
import { ME } from '../../../testing/replies';
import { makeSlide } from '../../../testing/slides';
import { type PutPart, PutFailed } from '../transfer/put_part';
import type { Slide } from '../transfer/upload_server';
import { digestSha256 } from '../transfer/sha256';

export const PART_SIZE = 4;

interface Stored {
  files: { name: string; size: number }[];
  parts: Map<string, { size: number; sha256: string }>;
  slide: Slide;
}

const json = (status: number, body: unknown) => new Response(JSON.stringify(body), { status });
const conflict = (detail: string) => json(409, { type: '/problems/conflict', detail });

export class FakeStore extends FakeApi {
  readonly uploads = new Map<string, Stored>();
  readonly puts: string[] = []; // "file/n" of each part that arrived, including repeats
  most = 0; // parts in flight at once
  brokenPuts = 0; // the number of puts that fail from now on
  lostCompletions = 0; // the number of completions whose answer gets lost
  verdict: Partial<Slide> = { status: 'READY' }; // the result of inspection
  /** What each part waits for before S3 accepts it. */
  gate: (part: string) => Promise<void> = () => Promise.resolve();
  private flying = 0;
  private readonly plain = new FakeApi(this.replies);

  constructor(replies: Record<string, Reply | Reply[]> = {}) {
    super({ 'GET /me': ME, ...replies });
  }

  override readonly fetch: typeof fetch = async (input, init) => {
    const url = new URL(input as string, 'http://page.example');
    const [noun, id = '', verb] = url.pathname.replace('/api/v1/wsi/', '').split('/');
    if (noun !== 'uploads' && noun !== 'slides') return this.plain.fetch(input, init);
    const method = init?.method ?? 'GET';
    const address = url.pathname.replace('/api/v1/wsi', '');
    this.seen.push({ method, address, headers: new Headers(), body: undefined });
    const body = JSON.parse((init?.body as string | undefined) ?? 'null') as never;
    await Promise.resolve();
    init?.signal?.throwIfAborted();
    if (noun === 'slides' && !id) return this.list();
    if (!id) return this.begin(body);
    const found = this.uploads.get(id);
    if (!found) return json(404, { type: '/problems/not_found', detail: 'There is no such slide.' });
    if (noun === 'slides') return json(200, this.inspect(found));
    if (method === 'DELETE') return this.drop(found);
    if (verb === 'complete') return this.complete(found);
    if (found.slide.status !== 'UPLOADING') return conflict('The upload is over.');
    return method === 'POST' ? this.grant(id, body) : this.held(found);
  };

  /** S3: refuses bytes other than those that the address was granted for. */
  readonly put: PutPart = async ({ url, headers }, part, onSent, signal) => {
    const [id = '', key = ''] = url.split('#');
    this.flying += 1;
    this.most = Math.max(this.most, this.flying);
    try {
      onSent(1);
      await this.gate(key);
      signal.throwIfAborted();
      if (this.brokenPuts > 0) {
        this.brokenPuts -= 1;
        throw new PutFailed('A part could not be sent.');
      }
      const digest = await digestSha256(part);
      if (digest !== headers['sha256']) throw new Error('Other bytes than those that were announced.');
      this.uploads.get(id)?.parts.set(key, { size: part.size, sha256: digest });
      this.puts.push(key);
      onSent(part.size);
    } finally {
      this.flying -= 1;
    }
  };

  of(name: string): Stored {
    const found = [...this.uploads.values()].find(({ slide }) => slide.name === name);
    if (!found) throw new Error(`Nobody began ${name}.`);
    return found;
  }

  private begin({ files, mpp, deidentify }: { files: Stored['files']; mpp: number | null; deidentify: boolean }): Response {
    const id = `s${this.uploads.size}`;
    const slide = makeSlide({
      slide_id: id,
      name: files[0]?.name.split('/').at(-1) ?? '',
      status: 'UPLOADING',
      files: files.length,
      size: files.reduce((sum, { size }) => sum + size, 0),
      mpp,
      deidentify,
    });
    this.uploads.set(id, { files, parts: new Map(), slide });
    return json(201, { slide_id: id, part_size: PART_SIZE, files: [] });
  }

  private grant(id: string, { parts }: { parts: { file: number; n: number; sha256: string }[] }): Response {
    const granted = parts.map((part) => {
      const { file, n } = part;
      return { file, n, url: `${id}#${file}/${n}`, headers: { sha256: part.sha256 } };
    });
    return json(200, { parts: granted });
  }

  private held({ parts }: Stored): Response {
    const inOrder = [...parts].sort(([one], [other]) => one.localeCompare(other, 'en', { numeric: true }));
    const items = inOrder.map(([key, part]) => {
      const [file, n] = key.split('/').map(Number);
      return { file, n, ...part };
    });
    return json(200, { part_size: PART_SIZE, items, next_cursor: null });
  }

  private complete(stored: Stored): Response {
    const answer = this.completed(stored);
    if (this.lostCompletions === 0) return answer;
    this.lostCompletions -= 1;
    return json(503, { type: '/problems/busy', detail: 'Try again in a minute.' });
  }

  private completed(stored: Stored): Response {
    if (stored.slide.status !== 'UPLOADING') return json(200, stored.slide);
    const size = [...stored.parts.values()].reduce((sum, part) => sum + part.size, 0);
    if (size !== stored.slide.size) return conflict('File number 0 lacks parts.');
    stored.slide = { ...stored.slide, status: 'UPLOADED' };
    return json(200, stored.slide);
  }

  private drop(stored: Stored): Response {
    stored.slide = { ...stored.slide, status: 'DELETED' };
    return new Response(null, { status: 204 });
  }

  private inspect(stored: Stored): Slide {
    if (stored.slide.status === 'UPLOADED') stored.slide = { ...stored.slide, ...this.verdict };
    return stored.slide;
  }

  private list(): Response {
    const items = [...this.uploads.values()].map(({ slide }) => slide).filter(({ status }) => status === 'UPLOADING');
    return json(200, { items, next_cursor: null });
  }
}
