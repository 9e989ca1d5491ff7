import type { components } from './generated/schema';

type Problem = components['schemas']['Problem'];

/** An error of the API (RFC 9457), or of the network. `message` is one sentence for users. */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';

  constructor(
    readonly status: number, // of HTTP; 0 when nothing answered
    readonly code: string, // stable: not_found, conflict, …
    sentence: string,
    readonly reason?: string, // why a slide cannot be analysed
    readonly traceparent?: string, // for the user to quote when asking for help
  ) {
    super(sentence);
  }

  /** Whether the same request may succeed later. */
  get isTransient(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

export const UNREACHABLE = new ApiProblem(0, 'unreachable', 'The server cannot be reached. Check your connection.');

export async function readProblem(answer: Response): Promise<ApiProblem> {
  const body: unknown = await answer.json().catch(() => null); // a proxy's page is not JSON
  const problem = (typeof body === 'object' && body !== null ? body : {}) as Partial<Problem>;
  return new ApiProblem(
    answer.status,
    problem.type?.split('/').at(-1) ?? 'unknown',
    problem.detail ?? problem.title ?? defaultMessage(answer.status),
    problem.reason ?? undefined,
    problem.traceparent,
  );
}

/** Messages for answers that do not come from the API, but from a gateway, a firewall or a hospital's proxy. */
const DEFAULT_MESSAGES: Record<number, string> = {
  401: 'Your session is no longer valid. Sign out and in again.',
  403: 'You do not have permission, or something between you and the server blocks the request.',
  404: 'This does not exist; it may have been deleted.',
  408: 'The server waited too long for your request. Check your connection, then try again.',
  409: 'Somebody else has changed it in the meantime. Reload the page.',
  413: 'The request is too large for the server.',
  429: 'Too many requests. Wait a minute, then try again.',
};

const defaultMessage = (status: number) =>
  DEFAULT_MESSAGES[status] ??
  (status >= 500
    ? `The server is busy or being restarted (status ${status}). Try again in a minute.`
    : `The server refused the request (status ${status}).`);

/** Return the message to show for anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'Something went wrong. Reload the page and try again.';
}
