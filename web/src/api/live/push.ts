/**
 * AppSync's realtime protocol, as far as one subscription needs it (decision 73).
 * https://docs.aws.amazon.com/appsync/latest/devguide/real-time-websocket-client.html
 */
import type { Credentials } from '../client';
import { type JobUpdate, SUBSCRIPTION, parseUpdate } from './job_update';

export interface SubscriptionCallbacks {
  /** The subscription is active: from now on, updates are pushed. */
  started: () => void;
  update: (update: JobUpdate) => void;
  /** The subscription has ended, or could not start. Called once, and last. */
  ended: () => void;
}

/** Subscribes to a job's updates, until the subscription ends or the returned function is called. */
export type Subscribe = (jobId: string, callbacks: SubscriptionCallbacks) => () => void;

interface Frame {
  type: string;
  payload?: {
    connectionTimeoutMs?: number;
    data?: { onJobUpdate: Record<string, unknown> | null };
    errors?: { errorCode?: number }[];
  };
}

const START_TIMEOUT = 10_000; // ms from the call to `start_ack`: a proxy that swallows WebSockets never answers
const DEFAULT_SILENCE = 300_000; // ms without even a `ka`, unless the server names another time
const UNAUTHORIZED = 401;
const OPEN = 1; // readyState
const SUBSCRIPTION_ID = '1'; // the only subscription of its connection

/** Make a function that subscribes to jobs. `url`: wss://….appsync-realtime-api.…/graphql, or the local stack's. */
export function makeSubscribe(
  url: string,
  credentials: Credentials,
  connect: (url: string, protocols: string[]) => WebSocket = (...where) => new WebSocket(...where),
): Subscribe {
  // AppSync serves WebSockets at one host and authorises callers for the other.
  const host = new URL(url).host.replace('.appsync-realtime-api.', '.appsync-api.');
  let renewed: string | null = null; // in place of a token that was refused; null once a subscription has started

  return (jobId, callbacks) => {
    let socket: WebSocket | null = null;
    let silence = DEFAULT_SILENCE;
    let isStarted = false;
    let isOver = false;
    let timer = setTimeout(end, START_TIMEOUT);

    function stop(): void {
      isOver = true;
      clearTimeout(timer);
      if (socket?.readyState === OPEN) socket.close(); // `onopen` closes a socket that is still connecting
    }

    function end(): void {
      if (isOver) return;
      stop();
      callbacks.ended();
    }

    function take({ type, payload }: Frame, token: string): void {
      if (isStarted) wait();
      switch (type) {
        case 'connection_ack':
          silence = payload?.connectionTimeoutMs ?? DEFAULT_SILENCE;
          start(token);
          break;
        case 'start_ack':
          isStarted = true;
          renewed = null;
          wait();
          callbacks.started();
          break;
        case 'data':
          if (payload?.data?.onJobUpdate) callbacks.update(parseUpdate(payload.data.onJobUpdate));
          break;
        case 'error':
        case 'connection_error':
          if (payload?.errors?.some(({ errorCode }) => errorCode === UNAUTHORIZED)) replace(token);
          else end();
          break;
        case 'complete':
          end();
      }
    }

    /** Renew a token that was refused, for the next subscription. One that was renewed already ends the session. */
    function replace(token: string): void {
      if (token === renewed) {
        credentials.reject(token);
        end();
        return;
      }
      credentials
        .renew(token)
        .then((fresh) => {
          renewed = fresh;
        })
        .then(end, end);
    }

    function start(token: string): void {
      const data = JSON.stringify({ query: SUBSCRIPTION, variables: { jobId } });
      const extensions = { authorization: { host, Authorization: token } };
      socket?.send(JSON.stringify({ id: SUBSCRIPTION_ID, type: 'start', payload: { data, extensions } }));
    }

    function wait(): void {
      clearTimeout(timer);
      timer = setTimeout(end, silence);
    }

    function open(token: string): void {
      if (isOver) return;
      const header = toBase64Url(JSON.stringify({ host, Authorization: token }));
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

/** Encode ASCII, such as tokens and hosts: a subprotocol must not contain "+", "/" or "=". */
const toBase64Url = (text: string) => btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
