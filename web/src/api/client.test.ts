import { describe, expect, it } from 'vitest';
import { FakeApi, makeSession } from '../testing/fakes';
import { ApiClient } from './client';
import { ApiProblem } from './problem';

const SLIDE = { slide_id: 's 1', name: 'a.svs' };
const BUSY = { status: 503, body: { type: '/problems/busy', detail: 'Try again in a minute.' } };
const REFUSED = { status: 401, body: { type: '/problems/unauthenticated', detail: 'Sign in.' } };

describe('ApiClient', () => {
  it('fills the path, leaves out empty filters and sends the token', async () => {
    const api = new FakeApi({ 'GET /slides/s%201': { body: SLIDE }, 'GET /slides': { body: { items: [] } } });
    const client = api.client();
    await client.get('/slides/{slide_id}', { path: { slide_id: 's 1' } });
    await client.get('/slides', { query: { q: '', status: null, limit: 50 } });
    expect(api.seen.map(({ address }) => address)).toEqual(['/slides/s%201', '/slides?limit=50']);
    expect(api.seen[0]?.headers.get('Authorization')).toBe('Bearer token-1');
  });

  it('throws a refusal with the sentence of the API', async () => {
    const body = { type: '/problems/conflict', detail: 'The slide is archived; restore it first.', reason: 'archived' };
    const api = new FakeApi({ 'POST /jobs': { status: 409, body } });
    const answer = api.client().post('/jobs', { body: { slide_id: 's', model: 'm' } });
    await expect(answer).rejects.toMatchObject({ status: 409, code: 'conflict', message: body.detail, reason: 'archived' });
  });

  it('has a sentence for an answer that is no problem document', async () => {
    const api = new FakeApi({ 'GET /me': { status: 403 } });
    await expect(api.client().get('/me', {})).rejects.toThrow(/^You do not have permission/);
  });

  it('asks again after a busy server and a broken connection', async () => {
    const api = new FakeApi({ 'GET /slides': [BUSY, new TypeError('Failed to fetch'), { body: { items: [SLIDE] } }] });
    expect(await api.client().get('/slides', {})).toEqual({ items: [SLIDE] });
    expect(api.seen).toHaveLength(3);
  });

  it('gives up after four tries, with what came last', async () => {
    const api = new FakeApi({ 'GET /slides': new TypeError('Failed to fetch') });
    await expect(api.client().get('/slides', {})).rejects.toMatchObject({ status: 0, isTransient: true });
    expect(api.seen).toHaveLength(4);
  });

  it('waits for as long as a server asks, and tells somebody in place of letting them wait for long', async () => {
    const pauses: number[] = [];
    const patient = (api: FakeApi) =>
      new ApiClient('/api/v1/wsi', makeSession(), api.fetch, (milliseconds) => {
        pauses.push(milliseconds);
        return Promise.resolve();
      });
    const soon = new FakeApi({ 'GET /me': [{ ...BUSY, headers: { 'Retry-After': '5' } }, { body: { role: 'viewer' } }] });
    await patient(soon).get('/me', {});
    expect(pauses).toEqual([5000]);

    const late = new FakeApi({ 'GET /me': { ...BUSY, headers: { 'Retry-After': '300' } } });
    await expect(patient(late).get('/me', {})).rejects.toThrow(BUSY.body.detail);
    expect(late.seen).toHaveLength(1);
    expect(pauses).toHaveLength(1);
  });

  it('never repeats what may do harm, unless a key makes the repeat harmless', async () => {
    const api = new FakeApi({ 'POST /jobs': [BUSY, { status: 201, body: { job_id: 'j' } }] });
    const job = { slide_id: 's', model: 'm' };
    await expect(api.client().post('/jobs', { body: job })).rejects.toThrow(BUSY.body.detail);
    expect(api.seen).toHaveLength(1);

    const keyed = new FakeApi({ 'POST /jobs': [BUSY, { status: 201, body: { job_id: 'j' } }] });
    await keyed.client().post('/jobs', { body: job, idempotencyKey: 'one intent' });
    expect(keyed.seen.map(({ headers }) => headers.get('Idempotency-Key'))).toEqual(['one intent', 'one intent']);
    expect(keyed.seen[1]?.body).toEqual(job);
  });

  it('does not repeat what will be refused again', async () => {
    const api = new FakeApi({ 'GET /jobs/{job_id}': { status: 404 } });
    await expect(api.client().get('/jobs/{job_id}', { path: { job_id: 'x' } })).rejects.toBeInstanceOf(ApiProblem);
    expect(api.seen).toHaveLength(1);
  });

  it('renews a refused token once, and then believes the refusal', async () => {
    const api = new FakeApi({ 'GET /me': [REFUSED, { body: { role: 'viewer' } }] });
    await api.client().get('/me', {});
    expect(api.seen.map(({ headers }) => headers.get('Authorization'))).toEqual(['Bearer token-1', 'Bearer token-2']);

    const unknown = new FakeApi({ 'GET /me': REFUSED });
    await expect(unknown.client().get('/me', {})).rejects.toMatchObject({ status: 401 });
    expect(unknown.seen).toHaveLength(2);
  });

  it('ends the session when a renewed token is refused as well', async () => {
    const session = makeSession();
    const api = new FakeApi({ 'GET /me': REFUSED });
    await expect(api.client(session).get('/me', {})).rejects.toMatchObject({ status: 401 });
    expect(session.current()).toMatchObject({ email: null, notice: expect.stringContaining('no access any more') as string });
  });

  it('answers nothing for 204, and stops when the caller goes away', async () => {
    const api = new FakeApi({ 'DELETE /slides/s': { status: 204 } });
    expect(await api.client(makeSession()).delete('/slides/{slide_id}', { path: { slide_id: 's' } })).toBeUndefined();
    const gone = AbortSignal.abort();
    await expect(api.client().get('/me', { signal: gone })).rejects.toMatchObject({ name: 'AbortError' });
    expect(api.seen).toHaveLength(2);
  });
});
