import { type ApiProblem, UNREACHABLE, readProblem } from './problem';
import type { AnswerOf, RequestOf, RequestOptions, Method, RouteOf } from './routes';

/** The caller's tokens. */
export interface Credentials {
  /** Return a valid token. Throws if nobody is signed in. */
  token(): Promise<string>;
  /** Return a new token in place of `refused`. Throws if there is none. */
  renew(refused: string): Promise<string>;
  /** End the session: `renewed`, which had just been renewed, was refused as well. */
  reject(renewed: string): void;
}

interface Call extends RequestOptions {
  path?: Record<string, string | number>;
  query?: Record<string, string | number | boolean | null | undefined>;
  body?: unknown;
}

const ATTEMPTS = 4;
const FIRST_PAUSE = 250; // ms; doubled with each attempt
const LONGEST_PAUSE = 4000; // ms
const LONGEST_RETRY_AFTER = 10_000; // ms of a Retry-After; a longer wait is shown as an error, not as an empty page

const sleep = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

/**
 * A client of the API, typed by docs/openapi.json. Errors are thrown as ApiProblem. Calls that are safe to repeat (GET,
 * or with an idempotency key) are retried after a broken connection, 429 and 5xx.
 */
export class ApiClient {
  constructor(
    private readonly url: string,
    private readonly credentials: Credentials,
    private readonly fetcher: typeof fetch = (...request) => fetch(...request),
    private readonly pause: (milliseconds: number) => Promise<void> = sleep,
  ) {}

  get<R extends RouteOf<'get'>>(route: R, request: RequestOf<'get', R>): Promise<AnswerOf<'get', R>> {
    return this.json('get', route, request);
  }

  post<R extends RouteOf<'post'>>(route: R, request: RequestOf<'post', R>): Promise<AnswerOf<'post', R>> {
    return this.json('post', route, request);
  }

  put<R extends RouteOf<'put'>>(route: R, request: RequestOf<'put', R>): Promise<AnswerOf<'put', R>> {
    return this.json('put', route, request);
  }

  patch<R extends RouteOf<'patch'>>(route: R, request: RequestOf<'patch', R>): Promise<AnswerOf<'patch', R>> {
    return this.json('patch', route, request);
  }

  delete<R extends RouteOf<'delete'>>(route: R, request: RequestOf<'delete', R>): Promise<AnswerOf<'delete', R>> {
    return this.json('delete', route, request);
  }

  /** Fetch an image from a route. */
  async image<R extends RouteOf<'get'>>(route: R, request: RequestOf<'get', R>): Promise<Blob> {
    const call: Call = request;
    const answer = await this.send('get', buildAddress(route, call), call, 'image/jpeg');
    return answer.blob();
  }

  private async json<Value>(method: Method, route: string, call: Call): Promise<Value> {
    const answer = await this.send(method, buildAddress(route, call), call, 'application/json');
    return (answer.status === 204 ? undefined : await answer.json()) as Value;
  }

  private async send(method: Method, address: string, call: Call, accept: string): Promise<Response> {
    const isRepeatable = method === 'get' || call.idempotencyKey !== undefined;
    let token = await this.credentials.token();
    let isRenewed = false;
    for (let attempt = 0; ; ) {
      const answer = await this.sendOnce(method, address, call, { accept, token });
      if (answer instanceof Response) {
        if (answer.ok) return answer;
        if (answer.status === 401 && !isRenewed) {
          token = await this.credentials.renew(token);
          isRenewed = true;
          continue;
        }
        if (answer.status === 401) this.credentials.reject(token);
      }
      const problem = answer instanceof Response ? await readProblem(answer) : answer;
      attempt += 1;
      const retryAfter = answer instanceof Response ? Number(answer.headers.get('Retry-After')) * 1000 || 0 : 0;
      if (!isRepeatable || !problem.isTransient || attempt === ATTEMPTS || retryAfter > LONGEST_RETRY_AFTER) throw problem;
      await this.pause(Math.max(retryAfter, drawPause(attempt)));
    }
  }

  private async sendOnce(
    method: Method,
    address: string,
    { body, idempotencyKey, signal }: Call,
    { accept, token }: { accept: string; token: string },
  ): Promise<Response | ApiProblem> {
    const headers: Record<string, string> = { Accept: accept, Authorization: `Bearer ${token}` };
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    if (idempotencyKey !== undefined) headers['Idempotency-Key'] = idempotencyKey;
    try {
      return await this.fetcher(this.url + address, {
        method: method.toUpperCase(),
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal ? { signal } : {}),
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      return UNREACHABLE; // fetch says no more than "Failed to fetch"
    }
  }
}

/** Draw a pause with full jitter, so that pages that failed together do not retry together. */
function drawPause(attempt: number): number {
  return Math.random() * Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** attempt);
}

function buildAddress(route: string, { path = {}, query = {} }: Call): string {
  const filled = route.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(path[name])));
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === null || value === '' ? [] : [[name, String(value)]],
  );
  return given.length > 0 ? `${filled}?${new URLSearchParams(given).toString()}` : filled;
}
