import type { components } from './generated/schema';

type Problem = components['schemas']['Problem'];

/** A refusal of the API (RFC 9457), or of the network. `message` is one sentence for people. */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';

  constructor(
    readonly status: number, // of HTTP; 0 when nothing answered
    readonly code: string, // stable: not_found, conflict, …
    sentence: string,
    readonly reason?: string, // why a slide can not be analysed
    readonly traceparent?: string, // to be quoted when asking for help
  ) {
    super(sentence);
  }

  /** Whether the same request may succeed in a while. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

export const UNREACHABLE = new ApiProblem(0, 'unreachable', 'The server can not be reached. Check your connection.');

export async function problemOf(answer: Response): Promise<ApiProblem> {
  const body: unknown = await answer.json().catch(() => null); // a proxy's page is no JSON
  const problem = (typeof body === 'object' && body !== null ? body : {}) as Partial<Problem>;
  return new ApiProblem(
    answer.status,
    problem.type?.split('/').at(-1) ?? 'unknown',
    problem.detail ?? problem.title ?? wordsFor(answer.status),
    problem.reason ?? undefined,
    problem.traceparent,
  );
}

/** Of what stands before the API (a gateway, a firewall, a proxy of a hospital) and answers without a sentence. */
const WORDS: Record<number, string> = {
  401: 'You are not signed in any more. Sign out and in again.',
  403: 'You may not do this, or something between you and the server does not let it through.',
  404: 'What you look for is not there; it may have been deleted.',
  408: 'The server waited too long for your request. Check your connection, then try again.',
  409: 'Somebody else changed it meanwhile. Reload the page.',
  413: 'What was sent is too large for the server.',
  429: 'Too much was asked at once. Wait a minute, then try again.',
};

const wordsFor = (status: number) =>
  WORDS[status] ??
  (status >= 500
    ? `The server is busy or being restarted (status ${status}). Try again in a minute.`
    : `The server refused it (status ${status}).`);

/** The sentence to show for whatever was thrown. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : 'Something went wrong. Reload the page and try again.';
}
