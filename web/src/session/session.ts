import type { Credentials } from '../api/client';
import { sentenceOf } from '../api/problem';
import { type SignIn, SignInRefused } from './sign_in';
import type { TokenStore, Tokens } from './tokens';

export interface SessionState {
  email: string | null; // null: nobody is signed in
  notice: string | null; // why somebody no longer is
}

/** Who is signed in in this tab. Tokens are renewed when they are asked for; one renewal serves all who wait. */
export class Session implements Credentials {
  private tokens: Tokens | null;
  private state: SessionState;
  private renewal: Promise<Tokens> | null = null;
  private readonly listeners = new Set<() => void>();

  constructor(
    readonly signIn: SignIn,
    private readonly store: TokenStore,
    private readonly now: () => number = Date.now,
  ) {
    this.tokens = store.read();
    this.state = { email: this.tokens?.email ?? null, notice: null };
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** The same object until something changes. */
  readonly current = (): SessionState => this.state;

  begin(tokens: Tokens): void {
    this.set(tokens, null);
  }

  /** Throws SignInRefused when nobody is signed in. */
  async token(): Promise<string> {
    if (this.tokens === null) throw new SignInRefused('You are not signed in.');
    const isFresh = this.now() < this.tokens.renewAt;
    return isFresh ? this.tokens.access : (await this.renew(this.tokens)).access;
  }

  async renewed(refused: string): Promise<string> {
    if (this.tokens !== null && this.tokens.access !== refused) return this.tokens.access; // somebody else was faster
    if (this.tokens === null) throw new SignInRefused('You are not signed in.');
    return (await this.renew(this.tokens)).access;
  }

  /** This tab forgets the tokens, whatever the issuer says to it; when it could not be told, the notice says so. */
  async end(): Promise<void> {
    const { tokens } = this;
    this.set(null, null);
    if (tokens === null) return;
    try {
      await this.signIn.leave(tokens);
    } catch (error) {
      this.refuse(`You are signed out in this tab, but the sign-in service could not be told: ${sentenceOf(error)}`);
    }
  }

  /** What the sign-in page tells first. */
  refuse(notice: string): void {
    this.set(null, notice);
  }

  private renew(tokens: Tokens): Promise<Tokens> {
    this.renewal ??= this.signIn
      .refresh(tokens)
      .then((fresh) => {
        if (this.tokens === tokens) this.set(fresh, null); // not after a sign-out meanwhile
        return fresh;
      })
      .catch((error: unknown) => {
        if (error instanceof SignInRefused) this.set(null, error.message);
        throw error;
      })
      .finally(() => {
        this.renewal = null;
      });
    return this.renewal;
  }

  private set(tokens: Tokens | null, notice: string | null): void {
    this.tokens = tokens;
    this.store.write(tokens);
    this.state = { email: tokens?.email ?? null, notice };
    for (const listener of this.listeners) listener();
  }
}
