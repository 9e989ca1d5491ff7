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

/** Make a sign-in with one valid password, "right"; each renewal gives the next token. */
export function makeFakeSignIn(): SignIn {
  let count = 1;
  return {
    kind: 'password',
    signIn: (email, password) =>
      password === 'right'
        ? Promise.resolve({ ...TOKENS, email })
        : Promise.reject(new SignInRefused('The e-mail address or the password is wrong.')),
    refresh: (tokens) => Promise.resolve({ ...tokens, access: `token-${++count}` }),
    signOut: () => Promise.resolve(),
  };
}

export function makeSession(tokens: Tokens = TOKENS): Session {
  const session = new Session(makeFakeSignIn(), new TokenStore(sessionStorage));
  session.begin(tokens);
  return session;
}

export interface SeenRequest {
  method: string;
  address: string; // including the query
  headers: Headers;
  body: unknown;
}

export type Reply = { status?: number; body?: unknown; headers?: Record<string, string> } | Error;
type ReplyPlan = Reply | Reply[] | ((seen: SeenRequest) => Reply);

/**
 * An API that answers from `replies`: "GET /slides" (or with a query, "GET /slides?q=a") → one reply, one reply per call,
 * or a function of the call.
 */
export class FakeApi {
  readonly seen: SeenRequest[] = [];

  constructor(readonly replies: Record<string, ReplyPlan>) {}

  readonly fetch: typeof fetch = (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input, 'http://page.example');
    const { method = 'GET', headers, body } = init ?? {};
    const address = url.pathname.replace(/^\/api\/v1\/wsi/, '');
    const seen: SeenRequest = {
      method,
      address: address + url.search,
      headers: new Headers(headers),
      body: typeof body === 'string' ? (JSON.parse(body) as unknown) : undefined,
    };
    this.seen.push(seen);
    if (init?.signal?.aborted) return Promise.reject(new DOMException('The caller went away.', 'AbortError'));
    const plan = this.replies[`${method} ${address}${url.search}`] ?? this.replies[`${method} ${address}`] ?? { status: 404, body: { type: '/problems/not_found' } };
    const reply = Array.isArray(plan) ? (plan.length > 1 ? plan.shift() : plan[0]) : typeof plan === 'function' ? plan(seen) : plan;
    if (reply === undefined || reply instanceof Error) return Promise.reject(reply ?? new TypeError('no reply'));
    const { status = 200, body: answer, headers: sent = {} } = reply;
    return Promise.resolve(new Response(answer === undefined ? null : JSON.stringify(answer), { status, headers: sent }));
  };

  client(session: Session = makeSession()): ApiClient {
    return new ApiClient('/api/v1/wsi', session, this.fetch, () => Promise.resolve());
  }
}
