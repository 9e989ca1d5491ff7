/** The authorization code grant with PKCE (RFC 7636) at Cognito's hosted page. */
import type { Config } from '../config/config';
import { type HostedSignIn, SignInRefused } from './sign_in';
import { makeTokens } from './tokens';

const PENDING_KEY = 'tessera.sign-in';

interface Pending {
  state: string;
  verifier: string;
  returnTo: string;
}

interface Browser {
  origin: string;
  storage: Storage;
  go: (url: string) => void;
  fetcher: typeof fetch;
  now: () => number;
}

export function makeHostedSignIn(config: Config, browser: Browser): HostedSignIn {
  const home = `${browser.origin}/`; // the only address that the app client allows
  const client = { client_id: config.clientId };

  async function ask(path: string, form: Record<string, string>): Promise<Record<string, unknown>> {
    const answer = await browser.fetcher(config.signInUrl + path, {
      method: 'POST',
      body: new URLSearchParams({ ...client, ...form }),
    });
    if (answer.status >= 400 && answer.status < 500) {
      throw new SignInRefused((await readRefusal(answer)) ?? 'Your session has ended. Sign in again.');
    }
    if (!answer.ok) throw new Error(`Signing in is not possible now (status ${answer.status}). Try again in a minute.`);
    return (answer.headers.get('Content-Type') ?? '').includes('json')
      ? ((await answer.json()) as Record<string, unknown>)
      : {};
  }

  async function tokens(form: Record<string, string>, refresh?: string) {
    const requestedAt = browser.now();
    const answer = await ask('/oauth2/token', form);
    return makeTokens(
      {
        access_token: String(answer['access_token']),
        id_token: String(answer['id_token']),
        expires_in: Number(answer['expires_in']),
      },
      typeof answer['refresh_token'] === 'string' ? answer['refresh_token'] : (refresh ?? ''),
      requestedAt,
    );
  }

  return {
    kind: 'hosted',

    async redirect(returnTo) {
      const pending: Pending = { state: makeRandomText(), verifier: makeRandomText(), returnTo };
      browser.storage.setItem(PENDING_KEY, JSON.stringify(pending));
      const query = new URLSearchParams({
        ...client,
        response_type: 'code',
        scope: 'openid email',
        redirect_uri: home,
        state: pending.state,
        code_challenge_method: 'S256',
        code_challenge: await makeChallenge(pending.verifier),
      });
      browser.go(`${config.signInUrl}/oauth2/authorize?${query.toString()}`);
    },

    async finish(address) {
      const state = address.searchParams.get('state');
      const code = address.searchParams.get('code');
      const refusal = address.searchParams.get('error_description') ?? address.searchParams.get('error');
      if (state === null || (code === null && refusal === null)) return null;
      const pending = JSON.parse(browser.storage.getItem(PENDING_KEY) ?? 'null') as Pending | null;
      browser.storage.removeItem(PENDING_KEY);
      // A code that this tab did not request may belong to another person (RFC 6749, 10.12).
      if (pending?.state !== state) throw new SignInRefused('This sign-in was not started here. Sign in again.');
      if (code === null) throw new SignInRefused(findSentence(refusal) ?? `Sign-in failed: ${refusal ?? ''}`);
      const form = { grant_type: 'authorization_code', code, redirect_uri: home, code_verifier: pending.verifier };
      return { tokens: await tokens(form), returnTo: pending.returnTo };
    },

    refresh: ({ refresh }) => tokens({ grant_type: 'refresh_token', refresh_token: refresh }, refresh),

    async signOut({ refresh }) {
      try {
        await ask('/oauth2/revoke', { token: refresh });
      } finally {
        // Otherwise the hosted page would sign the next person in as this one.
        browser.go(`${config.signInUrl}/logout?${new URLSearchParams({ ...client, logout_uri: home }).toString()}`);
      }
    },
  };
}

/** Return the sentence of lambdas/tokens/sign_on.py in an error of Cognito, which puts words of its own before it. */
function findSentence(error: string | null): string | null {
  const sentence = /PreTokenGeneration failed with error (.+?)\.?\s*$/.exec(error ?? '')?.[1];
  return sentence === undefined ? null : `${sentence}.`;
}

async function readRefusal(answer: Response): Promise<string | null> {
  const body = await answer.text();
  try {
    const { error_description: description } = JSON.parse(body) as { error_description?: unknown };
    return typeof description === 'string' ? findSentence(description) : null;
  } catch {
    return null; // a proxy's page
  }
}

/** Return 256 random bits as 43 characters of base64url. */
function makeRandomText(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}

async function makeChallenge(verifier: string): Promise<string> {
  return toBase64Url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))));
}

function toBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
