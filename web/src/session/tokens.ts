/** The tokens of a user who has signed in. */
export interface Tokens {
  access: string; // for the API and for subscriptions
  refresh: string;
  email: string;
  renewAt: number; // ms since 1970, by this machine's clock
}

interface TokenAnswer {
  access_token: string;
  id_token: string;
  expires_in: number; // s
}

const EARLY = 60_000; // ms before its expiry that a token is renewed: a request may take that long

/** Compute the renewal time from the moment of the answer, not from the token's own times: this machine's clock may be wrong. */
export function makeTokens(answer: TokenAnswer, refresh: string, now: number): Tokens {
  const claims = decodeClaims(answer.id_token);
  const email = claims['email'];
  const lives = answer.expires_in * 1000;
  return {
    access: answer.access_token,
    refresh,
    email: typeof email === 'string' ? email : 'signed in',
    renewAt: now + lives - Math.min(EARLY, lives / 2),
  };
}

/** Decode the claims without verifying them: the page only shows them, and the API verifies the token. */
function decodeClaims(jwt: string): Record<string, unknown> {
  const payload = (jwt.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/');
  const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
}

const KEY = 'tessera.tokens';

/** Stores tokens in this tab until it is closed: a reload stays signed in, another tab signs in again. */
export class TokenStore {
  constructor(private readonly storage: Storage) {}

  read(): Tokens | null {
    const held = this.storage.getItem(KEY);
    return held === null ? null : (JSON.parse(held) as Tokens);
  }

  write(tokens: Tokens | null): void {
    if (tokens) this.storage.setItem(KEY, JSON.stringify(tokens));
    else this.storage.removeItem(KEY);
  }
}
