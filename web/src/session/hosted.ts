/** The authorization code grant with PKCE (RFC 7636) at Cognito's hosted page. */
import type { Config } from '../config/config';
import { type HostedSignIn, SignInRefused } from './sign_in';
import { tokensOf } from './tokens';

const PENDING = 'tessera.sign-in';

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

export function hostedSignIn(config: Config, browser: Browser): HostedSignIn {
  const home = `${browser.origin}/`; // the one address that the app client lets in
  const client = { client_id: config.clientId };

  async function ask(path: string, form: Record<string, string>): Promise<Record<string, unknown>> {
    const answer = await browser.fetcher(config.signInUrl + path, {
      method: 'POST',
      body: new URLSearchParams({ ...client, ...form }),
    });
    if (answer.status >= 400 && answer.status < 500) throw new SignInRefused('Your session has ended. Sign in again.');
    if (!answer.ok) throw new Error(`Signing in is not possible now (status ${answer.status}). Try again in a minute.`);
    return (answer.headers.get('Content-Type') ?? '').includes('json')
      ? ((await answer.json()) as Record<string, unknown>)
      : {};
  }

  async function tokens(form: Record<string, string>, refresh?: string) {
    const asked = browser.now();
    const answer = await ask('/oauth2/token', form);
    return tokensOf(
      {
        access_token: String(answer['access_token']),
        id_token: String(answer['id_token']),
        expires_in: Number(answer['expires_in']),
      },
      typeof answer['refresh_token'] === 'string' ? answer['refresh_token'] : (refresh ?? ''),
      asked,
    );
  }

  return {
    kind: 'hosted',

    async go(returnTo) {
      const pending: Pending = { state: randomText(), verifier: randomText(), returnTo };
      browser.storage.setItem(PENDING, JSON.stringify(pending));
      const query = new URLSearchParams({
        ...client,
        response_type: 'code',
        scope: 'openid email',
        redirect_uri: home,
        state: pending.state,
        code_challenge_method: 'S256',
        code_challenge: await challengeOf(pending.verifier),
      });
      browser.go(`${config.signInUrl}/oauth2/authorize?${query.toString()}`);
    },

    async arrive(address) {
      const state = address.searchParams.get('state');
      const code = address.searchParams.get('code');
      const refusal = address.searchParams.get('error_description') ?? address.searchParams.get('error');
      if (state === null || (code === null && refusal === null)) return null;
      const pending = JSON.parse(browser.storage.getItem(PENDING) ?? 'null') as Pending | null;
      browser.storage.removeItem(PENDING);
      // A code that this tab did not ask for may be another person's (RFC 6749, 10.12).
      if (pending?.state !== state) throw new SignInRefused('This sign-in was not begun here. Sign in again.');
      if (code === null) throw new SignInRefused(`Signing in did not succeed: ${refusal ?? ''}`);
      const form = { grant_type: 'authorization_code', code, redirect_uri: home, code_verifier: pending.verifier };
      return { tokens: await tokens(form), returnTo: pending.returnTo };
    },

    refresh: ({ refresh }) => tokens({ grant_type: 'refresh_token', refresh_token: refresh }, refresh),

    async leave({ refresh }) {
      try {
        await ask('/oauth2/revoke', { token: refresh });
      } finally {
        // Else the hosted page would let the next person in as this one.
        browser.go(`${config.signInUrl}/logout?${new URLSearchParams({ ...client, logout_uri: home }).toString()}`);
      }
    },
  };
}

/** 43 characters of base64url: 256 random bits. */
function randomText(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

async function challengeOf(verifier: string): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))));
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
