import type { Tokens } from './tokens';

/** Signing in did not succeed. `message` is one sentence for people. */
export class SignInRefused extends Error {
  override readonly name = 'SignInRefused';
}

interface Issuer {
  /** New tokens in place of these. Throws SignInRefused when the issuer no longer wants to, others when it can not. */
  refresh(tokens: Tokens): Promise<Tokens>;
  /** Makes the refresh token worthless, and leaves the issuer's own session where there is one. */
  leave(tokens: Tokens): Promise<void>;
}

/** Cognito's hosted page: the browser goes there and comes back with a code. */
export interface HostedSignIn extends Issuer {
  kind: 'hosted';
  /** Leaves the page; `returnTo` is the path to come back to. */
  go(returnTo: string): Promise<void>;
  /** The tokens for the code in `address`, and where to go on; null when this is no return. Throws SignInRefused. */
  arrive(address: URL): Promise<{ tokens: Tokens; returnTo: string } | null>;
}

/** The people of the local stack: a form of our own, since that stack's Cognito has no page that we would show. */
export interface PasswordSignIn extends Issuer {
  kind: 'password';
  /** Throws SignInRefused. */
  withPassword(email: string, password: string): Promise<Tokens>;
}

export type SignIn = HostedSignIn | PasswordSignIn;
