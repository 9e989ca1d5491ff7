import { ApiClient } from '../api/client';
import { Session } from '../session/session';
import { type SignIn, SignInRefused } from '../session/sign_in';
import { type Tokens, TokenStore } from '../session/tokens';

export const TOKENS: Tokens = {
  access: 'token-1',
  refresh: 'refresh',
  email: 'analyst@first.example',
  renewAt: Date.now() + 3_600_000,
};

/** Knows one password, "right"; each renewal gives the next token. */
export function fakeSignIn(): SignIn {
  let count = 1;
  return {
    kind: 'password',
    withPassword: (email, password) =>
      password === 'right'
        ? Promise.resolve({ ...TOKENS, email })
        : Promise.reject(new SignInRefused('The e-mail address or the password is wrong.')),
    refresh: (tokens) => Promise.resolve({ ...tokens, access: `token-${++count}` }),
    leave: () => Promise.resolve(),
  };
}

export function signedIn(tokens: Tokens = TOKENS): Session {
  const session = new Session(fakeSignIn(), new TokenStore(sessionStorage));
  session.begin(tokens);
  return session;
}

export interface Seen {
  method: string;
  address: string; // with its query
  headers: Headers;
  body: unknown;
}

export type Reply = { status?: number; body?: unknown; headers?: Record<string, string> } | Error;
type Told = Reply | Reply[] | ((seen: Seen) => Reply);

/**
 * An API that answers by `replies`, "GET /slides" (or with its query, "GET /slides?q=a") → what it says, what each call
 * in turn is told, or what it makes of the call.
 */
export class FakeApi {
  readonly seen: Seen[] = [];

  constructor(readonly replies: Record<string, Told>) {}

  readonly fetch: typeof fetch = (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input, 'http://page.example');
    const { method = 'GET', headers, body } = init ?? {};
    const address = url.pathname.replace(/^\/api\/v1\/wsi/, '');
    const seen: Seen = {
      method,
      address: address + url.search,
      headers: new Headers(headers),
      body: typeof body === 'string' ? (JSON.parse(body) as unknown) : undefined,
    };
    this.seen.push(seen);
    if (init?.signal?.aborted) return Promise.reject(new DOMException('The caller went away.', 'AbortError'));
    const told = this.replies[`${method} ${address}${url.search}`] ?? this.replies[`${method} ${address}`] ?? { status: 404, body: { type: '/problems/not_found' } };
    const reply = Array.isArray(told) ? (told.length > 1 ? told.shift() : told[0]) : typeof told === 'function' ? told(seen) : told;
    if (reply === undefined || reply instanceof Error) return Promise.reject(reply ?? new TypeError('no reply'));
    const { status = 200, body: answer, headers: sent = {} } = reply;
    return Promise.resolve(new Response(answer === undefined ? null : JSON.stringify(answer), { status, headers: sent }));
  };

  client(session: Session = signedIn()): ApiClient {
    return new ApiClient('/api/v1/wsi', session, this.fetch, () => Promise.resolve());
  }
}
