import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeSocket } from '../../testing/fake_socket';
import { makeJob, makePushedUpdate } from '../../testing/jobs';
import type { Credentials } from '../client';
import { makeSubscribe } from './push';

const URL_OF_AWS = 'wss://abc.appsync-realtime-api.eu-central-1.amazonaws.com/graphql';
const HOST = 'abc.appsync-api.eu-central-1.amazonaws.com';
const REFUSED = { payload: { errors: [{ errorType: 'UnauthorizedException', errorCode: 401 }] } };

function credentials() {
  let count = 1;
  const renew = vi.fn(() => Promise.resolve(`token-${++count}`));
  return { token: () => Promise.resolve(`token-${count}`), renew, reject: vi.fn() } satisfies Credentials;
}

function subscribed(vouching: Credentials = credentials()) {
  const hearing = { started: vi.fn(), update: vi.fn(), ended: vi.fn() };
  const stop = makeSubscribe(URL_OF_AWS, vouching, FakeSocket.connect)('job-1', hearing);
  return { ...hearing, stop };
}

const settled = () => vi.advanceTimersByTimeAsync(0);

describe('a subscription', () => {
  beforeEach(() => {
    vi.useFakeTimers();
    FakeSocket.made.length = 0;
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('carries the token in a subprotocol, and in its start, for the host that AppSync signs people in at', async () => {
    const { started } = subscribed();
    await settled();
    const [protocol, header = ''] = FakeSocket.last.protocols;
    expect(protocol).toBe('graphql-ws');
    expect(header).toMatch(/^header-[\w-]+$/);
    const credential: unknown = JSON.parse(atob(header.slice('header-'.length).replaceAll('-', '+').replaceAll('_', '/')));
    expect(credential).toEqual({ host: HOST, Authorization: 'token-1' });
    FakeSocket.last.admit();
    expect(started).toHaveBeenCalledOnce();
    const [init, start] = FakeSocket.last.sent;
    expect(init).toEqual({ type: 'connection_init' });
    expect(start).toMatchObject({ id: '1', type: 'start', payload: { extensions: { authorization: credential } } });
    expect(JSON.parse(start?.payload?.data ?? '')).toMatchObject({ variables: { jobId: 'job-1' } });
  });

  it('tells updates under the names of the API, and survives one without data', async () => {
    const { update } = subscribed();
    await settled();
    FakeSocket.last.admit();
    FakeSocket.last.say({ type: 'data', id: '1', payload: { data: { onJobUpdate: null } } });
    FakeSocket.last.push(makePushedUpdate(makeJob()));
    expect(update).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ job_id: 'job-1', progress_seq: 4 }));
  });

  it('ends once, however the connection goes', async () => {
    const { ended } = subscribed();
    await settled();
    FakeSocket.last.admit();
    FakeSocket.last.drop();
    FakeSocket.last.say({ type: 'complete', id: '1' });
    expect(ended).toHaveBeenCalledOnce();
  });

  it('ends when nothing answers within ten seconds, and closes what opens later', async () => {
    const { ended } = subscribed();
    await settled();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(ended).toHaveBeenCalledOnce();
    FakeSocket.last.open();
    expect(FakeSocket.last).toMatchObject({ readyState: 3, sent: [] });
  });

  it('ends when a connection that was admitted is given no subscription', async () => {
    const { ended } = subscribed();
    await settled();
    FakeSocket.last.open();
    FakeSocket.last.say({ type: 'connection_ack', payload: { connectionTimeoutMs: 300_000 } });
    FakeSocket.last.say({ type: 'ka' });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(ended).toHaveBeenCalledOnce();
  });

  it('ends after a silence as long as the server says, which every word begins anew', async () => {
    const { ended } = subscribed();
    await settled();
    FakeSocket.last.admit();
    await vi.advanceTimersByTimeAsync(299_000);
    FakeSocket.last.say({ type: 'ka' });
    await vi.advanceTimersByTimeAsync(299_000);
    expect(ended).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1000);
    expect(ended).toHaveBeenCalledOnce();
  });

  it('renews a token that was refused, before it ends', async () => {
    const vouching = credentials();
    const { ended } = subscribed(vouching);
    await settled();
    FakeSocket.last.open();
    FakeSocket.last.say({ type: 'connection_error', ...REFUSED });
    FakeSocket.last.drop();
    await settled();
    expect(vouching.renew).toHaveBeenCalledExactlyOnceWith('token-1');
    expect(ended).toHaveBeenCalledOnce();
  });

  it('tries a refused token again once with a fresh one, and ends the session when that is refused too', async () => {
    const vouching = credentials();
    const subscribe = makeSubscribe(URL_OF_AWS, vouching, FakeSocket.connect);
    const hearing = { started: vi.fn(), update: vi.fn(), ended: vi.fn() };
    for (const attempt of [1, 2]) {
      subscribe('job-1', hearing);
      await settled();
      FakeSocket.last.open();
      FakeSocket.last.say({ type: 'connection_error', ...REFUSED });
      await settled();
      expect(hearing.ended).toHaveBeenCalledTimes(attempt);
    }
    expect(vouching.renew).toHaveBeenCalledExactlyOnceWith('token-1');
    expect(vouching.reject).toHaveBeenCalledExactlyOnceWith('token-2');
  });

  it('keeps the session of a renewed token that was accepted before it was refused', async () => {
    const vouching = credentials();
    const subscribe = makeSubscribe(URL_OF_AWS, vouching, FakeSocket.connect);
    const hearing = { started: vi.fn(), update: vi.fn(), ended: vi.fn() };
    for (const isAdmitted of [false, true, false]) {
      subscribe('job-1', hearing);
      await settled();
      if (isAdmitted) FakeSocket.last.admit();
      else FakeSocket.last.open();
      FakeSocket.last.say({ type: isAdmitted ? 'complete' : 'connection_error', ...REFUSED });
      await settled();
    }
    expect(vouching.renew).toHaveBeenCalledTimes(2);
    expect(vouching.reject).not.toHaveBeenCalled();
  });

  it('ends without a word of its own when there is no token, and says nothing once it is stopped', async () => {
    const nobody = { token: () => Promise.reject(new Error('You are not signed in.')), renew: vi.fn(), reject: vi.fn() };
    const { ended } = subscribed(nobody);
    await settled();
    expect(ended).toHaveBeenCalledOnce();
    expect(FakeSocket.made).toEqual([]);

    const other = subscribed();
    await settled();
    FakeSocket.last.admit();
    other.stop();
    FakeSocket.last.push(makePushedUpdate(makeJob()));
    FakeSocket.last.drop();
    expect(other.update).not.toHaveBeenCalled();
    expect(other.ended).not.toHaveBeenCalled();
  });
});
