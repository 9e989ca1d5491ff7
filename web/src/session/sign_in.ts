import type { Tokens } from './tokens';

/** Signing in failed. `message` is one sentence for users. */
export class SignInRefused extends Error {
  override readonly name = 'SignInRefused';
}

interface Issuer {
  /** Return new tokens in place of these. Throws SignInRefused if the issuer refuses, and other errors if it fails. */
  refresh(tokens: Tokens): Promise<Tokens>;
  /** Revoke the refresh token, and end the issuer's own session if there is one. */
  signOut(tokens: Tokens): Promise<void>;
}

/** Sign-in at Cognito's hosted page: the browser goes there and returns with a code. */
export interface HostedSignIn extends Issuer {
  kind: 'hosted';
  /** Leave for the hosted page; `returnTo` is the path to return to. */
  redirect(returnTo: string): Promise<void>;
  /** Redeem the code in `address`; null if there is none. Returns the tokens and the path to return to. Throws SignInRefused. */
  finish(address: URL): Promise<{ tokens: Tokens; returnTo: string } | null>;
}

/** Sign-in by our own form, for the local stack, whose Cognito has no usable hosted page. */
export interface PasswordSignIn extends Issuer {
  kind: 'password';
  /** Return tokens for a password. Throws SignInRefused. */
  signIn(email: string, password: string): Promise<Tokens>;
}

export type SignIn = HostedSignIn | PasswordSignIn;
