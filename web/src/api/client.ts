import { type ApiProblem, UNREACHABLE, problemOf } from './problem';
import type { Answer, Asked, Manner, Method, RouteOf } from './routes';

/** Who vouches for the caller. */
export interface Credentials {
  /** A token that is valid now. Throws when nobody is signed in. */
  token(): Promise<string>;
  /** A new one in place of `refused`. Throws when there is none. */
  renewed(refused: string): Promise<string>;
}

interface Call extends Manner {
  path?: Record<string, string | number>;
  query?: Record<string, string | number | boolean | null | undefined>;
  body?: unknown;
}

const ATTEMPTS = 4;
const FIRST_PAUSE = 250; // ms; doubled with each attempt
const LONGEST_PAUSE = 4000; // ms
const LONGEST_ASKED = 10_000; // ms of a Retry-After; who is to wait for longer is told, not left before an empty page

const sleep = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

/**
 * The API's routes by the types of docs/openapi.json. Refusals are thrown as ApiProblem. What does no harm when it is
 * repeated (GET, or a call with an idempotency key) is tried again after a broken connection, 429 and 5xx.
 */
export class ApiClient {
  constructor(
    private readonly url: string,
    private readonly credentials: Credentials,
    private readonly fetcher: typeof fetch = (...request) => fetch(...request),
    private readonly pause: (milliseconds: number) => Promise<void> = sleep,
  ) {}

  get<R extends RouteOf<'get'>>(route: R, asked: Asked<'get', R>): Promise<Answer<'get', R>> {
    return this.json('get', route, asked);
  }

  post<R extends RouteOf<'post'>>(route: R, asked: Asked<'post', R>): Promise<Answer<'post', R>> {
    return this.json('post', route, asked);
  }

  patch<R extends RouteOf<'patch'>>(route: R, asked: Asked<'patch', R>): Promise<Answer<'patch', R>> {
    return this.json('patch', route, asked);
  }

  delete<R extends RouteOf<'delete'>>(route: R, asked: Asked<'delete', R>): Promise<Answer<'delete', R>> {
    return this.json('delete', route, asked);
  }

  /** Of a route that answers with a picture. */
  async image<R extends RouteOf<'get'>>(route: R, asked: Asked<'get', R>): Promise<Blob> {
    const call: Call = asked;
    const answer = await this.send('get', addressOf(route, call), call, 'image/jpeg');
    return answer.blob();
  }

  private async json<Value>(method: Method, route: string, call: Call): Promise<Value> {
    const answer = await this.send(method, addressOf(route, call), call, 'application/json');
    return (answer.status === 204 ? undefined : await answer.json()) as Value;
  }

  private async send(method: Method, address: string, call: Call, accept: string): Promise<Response> {
    const isRepeatable = method === 'get' || call.idempotencyKey !== undefined;
    let token = await this.credentials.token();
    let isRenewed = false;
    for (let attempt = 0; ; ) {
      const answer = await this.once(method, address, call, { accept, token });
      if (answer instanceof Response) {
        if (answer.ok) return answer;
        if (answer.status === 401 && !isRenewed) {
          token = await this.credentials.renewed(token);
          isRenewed = true;
          continue;
        }
      }
      const problem = answer instanceof Response ? await problemOf(answer) : answer;
      attempt += 1;
      const asked = answer instanceof Response ? Number(answer.headers.get('Retry-After')) * 1000 || 0 : 0;
      if (!isRepeatable || !problem.isPassing || attempt === ATTEMPTS || asked > LONGEST_ASKED) throw problem;
      await this.pause(Math.max(asked, pauseBefore(attempt)));
    }
  }

  private async once(
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

/** Full jitter, so that pages that failed together do not come back together. */
function pauseBefore(attempt: number): number {
  return Math.random() * Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** attempt);
}

function addressOf(route: string, { path = {}, query = {} }: Call): string {
  const filled = route.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(path[name])));
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === null || value === '' ? [] : [[name, String(value)]],
  );
  return given.length > 0 ? `${filled}?${new URLSearchParams(given).toString()}` : filled;
}
