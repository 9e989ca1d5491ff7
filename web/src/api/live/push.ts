/**
 * AppSync's realtime protocol, as much as one subscription needs (decision 73).
 * https://docs.aws.amazon.com/appsync/latest/devguide/real-time-websocket-client.html
 */
import type { Credentials } from '../client';
import { type JobUpdate, SUBSCRIPTION, updateOf } from './job_update';

export interface Hearing {
  /** The subscription stands: what happens from now on is pushed. */
  started: () => void;
  update: (update: JobUpdate) => void;
  /** It is over, or could not begin; once, and last. */
  ended: () => void;
}

/** Hears of a job until it ends by itself or the function returned is called. */
export type Subscribe = (jobId: string, hearing: Hearing) => () => void;

interface Frame {
  type: string;
  payload?: {
    connectionTimeoutMs?: number;
    data?: { onJobUpdate: Record<string, unknown> | null };
    errors?: { errorCode?: number }[];
  };
}

const BEGIN = 10_000; // ms from the call to `start_ack`: a proxy that swallows WebSockets says nothing at all
const SILENCE = 300_000; // ms without even a `ka`, where the server names no other time
const UNAUTHORIZED = 401;
const OPEN = 1; // readyState
const ID = '1'; // of the one subscription of the connection

/** `url`: wss://….appsync-realtime-api.…/graphql, or the local stack's. */
export function pushFrom(
  url: string,
  credentials: Credentials,
  connect: (url: string, protocols: string[]) => WebSocket = (...where) => new WebSocket(...where),
): Subscribe {
  // AppSync speaks at one host and has callers sign in for the other.
  const host = new URL(url).host.replace('.appsync-realtime-api.', '.appsync-api.');

  return (jobId, hearing) => {
    let socket: WebSocket | null = null;
    let silence = SILENCE;
    let isStarted = false;
    let isOver = false;
    let timer = setTimeout(end, BEGIN);

    function stop(): void {
      isOver = true;
      clearTimeout(timer);
      if (socket?.readyState === OPEN) socket.close(); // one that connects still is closed by `onopen`
    }

    function end(): void {
      if (isOver) return;
      stop();
      hearing.ended();
    }

    function take({ type, payload }: Frame, token: string): void {
      if (isStarted) wait();
      switch (type) {
        case 'connection_ack':
          silence = payload?.connectionTimeoutMs ?? SILENCE;
          start(token);
          break;
        case 'start_ack':
          isStarted = true;
          wait();
          hearing.started();
          break;
        case 'data':
          if (payload?.data?.onJobUpdate) hearing.update(updateOf(payload.data.onJobUpdate));
          break;
        case 'error':
        case 'connection_error':
          if (payload?.errors?.some(({ errorCode }) => errorCode === UNAUTHORIZED)) credentials.renewed(token).then(end, end);
          else end();
          break;
        case 'complete':
          end();
      }
    }

    function start(token: string): void {
      const data = JSON.stringify({ query: SUBSCRIPTION, variables: { jobId } });
      const extensions = { authorization: { host, Authorization: token } };
      socket?.send(JSON.stringify({ id: ID, type: 'start', payload: { data, extensions } }));
    }

    function wait(): void {
      clearTimeout(timer);
      timer = setTimeout(end, silence);
    }

    function open(token: string): void {
      if (isOver) return;
      const header = base64url(JSON.stringify({ host, Authorization: token }));
      socket = connect(url, ['graphql-ws', `header-${header}`]);
      socket.onopen = () => {
        if (isOver) socket?.close();
        else socket?.send(JSON.stringify({ type: 'connection_init' }));
      };
      socket.onmessage = ({ data }: MessageEvent<string>) => {
        if (!isOver) take(JSON.parse(data) as Frame, token);
      };
      socket.onclose = end;
      socket.onerror = end;
    }

    credentials.token().then(open).catch(end);
    return stop;
  };
}

/** Of ASCII, as tokens and hosts are; in a subprotocol neither "+" nor "/" nor "=" may stand. */
const base64url = (text: string) => btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
