import type { Credentials } from '../api/client';
import { messageOf } from '../api/problem';
import { type SignIn, SignInRefused } from './sign_in';
import type { TokenStore, Tokens } from './tokens';

export interface SessionState {
  email: string | null; // null: nobody is signed in
  notice: string | null; // why the session ended
}

/** The session of this tab. Tokens are renewed on demand; concurrent callers share one renewal. */
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

  /** Return the current state: the same object until something changes. */
  readonly current = (): SessionState => this.state;

  begin(tokens: Tokens): void {
    this.set(tokens, null);
  }

  /** Return a fresh access token. Throws SignInRefused if nobody is signed in. */
  async token(): Promise<string> {
    if (this.tokens === null) throw new SignInRefused('You are not signed in.');
    const isFresh = this.now() < this.tokens.renewAt;
    return isFresh ? this.tokens.access : (await this.startRenewal(this.tokens)).access;
  }

  async renew(refused: string): Promise<string> {
    if (this.tokens !== null && this.tokens.access !== refused) return this.tokens.access; // another caller has already renewed it
    if (this.tokens === null) throw new SignInRefused('You are not signed in.');
    return (await this.startRenewal(this.tokens)).access;
  }

  reject(renewed: string): void {
    if (this.tokens?.access !== renewed) return; // somebody has signed in again meanwhile
    this.endWithNotice('You are signed out: this account has no access any more. Ask an administrator, or sign in again.');
  }

  /** Forget the tokens of this tab and revoke them. If revoking fails, the notice says so. */
  async end(): Promise<void> {
    const { tokens } = this;
    this.set(null, null);
    if (tokens === null) return;
    try {
      await this.signIn.signOut(tokens);
    } catch (error) {
      this.endWithNotice(`You are signed out in this tab, but the sign-in service did not confirm it: ${messageOf(error)}`);
    }
  }

  /** End the session; the sign-in page shows `notice`. */
  endWithNotice(notice: string): void {
    this.set(null, notice);
  }

  private startRenewal(tokens: Tokens): Promise<Tokens> {
    this.renewal ??= this.signIn
      .refresh(tokens)
      .then((fresh) => {
        if (this.tokens === tokens) this.set(fresh, null); // unless the user has signed out in the meantime
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
