import { describe, expect, it, vi } from 'vitest';
import { TOKENS, makeFakeSignIn } from '../testing/fakes';
import { Session } from './session';
import { type SignIn, SignInRefused } from './sign_in';
import { TokenStore, type Tokens } from './tokens';


function begun({ signIn = makeFakeSignIn(), tokens = TOKENS, now = Date.now } = {}): Session {
  const session = new Session(signIn, new TokenStore(sessionStorage), now);
  session.begin(tokens);
  return session;
}

const refusing = (): SignIn => ({
  ...makeFakeSignIn(),
  refresh: () => Promise.reject(new SignInRefused('Your session has ended. Sign in again.')),
});

describe('Session', () => {
  it('gives the token it has for as long as that is fresh', async () => {
    expect(await begun().token()).toBe('token-1');
  });

  it('renews before the end, once for all who wait', async () => {
    const now = () => TOKENS.renewAt;
    const signIn = makeFakeSignIn();
    const refresh = vi.spyOn(signIn, 'refresh');
    const session = begun({ signIn, now });
    expect(await Promise.all([session.token(), session.token(), session.renew('token-1')])).toEqual([
      'token-2',
      'token-2',
      'token-2',
    ]);
    expect(refresh).toHaveBeenCalledTimes(1);
  });

  it('does not renew again for a request that carried the token before', async () => {
    const session = begun();
    await session.renew('token-1');
    expect(await session.renew('token-1')).toBe('token-2');
  });

  it('ends with a notice when the issuer wants to renew no more', async () => {
    const session = begun({ signIn: refusing() });
    const heard = vi.fn();
    session.subscribe(heard);
    await expect(session.renew('token-1')).rejects.toThrow('Sign in again');
    expect(session.current()).toEqual({ email: null, notice: 'Your session has ended. Sign in again.' });
    expect(heard).toHaveBeenCalled();
    await expect(session.token()).rejects.toBeInstanceOf(SignInRefused);
  });

  it('goes on when the issuer merely cannot be reached', async () => {
    const away: SignIn = { ...makeFakeSignIn(), refresh: () => Promise.reject(new TypeError('Failed to fetch')) };
    const session = begun({ signIn: away });
    await expect(session.renew('token-1')).rejects.toThrow('Failed to fetch');
    expect(session.current().email).toBe(TOKENS.email);
  });

  it('is found again after a reload, and forgotten after a sign-out even when the issuer is away', async () => {
    const away: SignIn = { ...makeFakeSignIn(), signOut: () => Promise.reject(new TypeError('Failed to fetch')) };
    begun({ signIn: away });
    const reloaded = new Session(away, new TokenStore(sessionStorage));
    expect(reloaded.current().email).toBe(TOKENS.email);
    await reloaded.end();
    expect(reloaded.current().email).toBeNull();
    expect(reloaded.current().notice).toContain('did not confirm it: Failed to fetch');
    expect(sessionStorage).toHaveLength(0);
  });

  it('does not sign in again with a renewal that comes after the sign-out', async () => {
    let answer: (tokens: Tokens) => void = () => undefined;
    const slow: SignIn = { ...makeFakeSignIn(), refresh: () => new Promise((resolve) => (answer = resolve)) };
    const session = begun({ signIn: slow });
    const renewal = session.renew('token-1');
    await session.end();
    answer({ ...TOKENS, access: 'late' });
    await renewal;
    expect(session.current().email).toBeNull();
    expect(sessionStorage).toHaveLength(0);
  });
});
