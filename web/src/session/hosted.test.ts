import { describe, expect, it } from 'vitest';
import type { Config } from '../config/config';
import { makeHostedSignIn } from './hosted';
import { makePasswordSignIn } from './password';
import { SignInRefused } from './sign_in';

const CONFIG: Config = {
  apiUrl: '/api/v1/wsi',
  region: 'eu-central-1',
  userPoolId: 'pool',
  clientId: 'client-1',
  signInUrl: 'https://sign-in.example',
  realtimeUrl: 'wss://push.example',
  signIn: 'hosted',
};
const NOW = 1_000_000;

/** A token with these claims, whose signature nobody here looks at; "ü" needs more than Latin-1's decoding. */
function idToken(email: string): string {
  const text = String.fromCharCode(...new TextEncoder().encode(JSON.stringify({ email })));
  return `e30.${btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}.x`;
}

const GIVEN = { access_token: 'access', id_token: idToken('jürgen@clinic.example'), refresh_token: 'r', expires_in: 3600 };

function browser(status = 200, body: object = GIVEN) {
  const went: string[] = [];
  const posted: { url: string; form: URLSearchParams }[] = [];
  const fetcher: typeof fetch = (url, init) => {
    posted.push({ url: url instanceof Request ? url.url : String(url), form: init?.body as URLSearchParams });
    return Promise.resolve(Response.json(body, { status }));
  };
  const go = (url: string) => went.push(url);
  const signIn = makeHostedSignIn(CONFIG, { origin: 'https://page.example', storage: sessionStorage, go, fetcher, now: () => NOW });
  return { signIn, went, posted };
}

const cameBack = (query: Record<string, string>) =>
  new URL(`https://page.example/?${new URLSearchParams(query).toString()}`);

async function gone(tab: ReturnType<typeof browser>, returnTo = '/jobs/1') {
  await tab.signIn.redirect(returnTo);
  return new URL(tab.went.at(-1) ?? '').searchParams;
}

describe('the hosted page', () => {
  it('is asked with a challenge that fits the verifier which fetches the tokens', async () => {
    const tab = browser();
    const asked = await gone(tab);
    expect(Object.fromEntries(asked)).toMatchObject({
      client_id: 'client-1',
      response_type: 'code',
      redirect_uri: 'https://page.example/',
      code_challenge_method: 'S256',
    });
    const arrived = await tab.signIn.finish(cameBack({ code: 'c', state: asked.get('state') ?? '' }));
    const form = tab.posted[0]?.form;
    expect(tab.posted[0]?.url).toBe('https://sign-in.example/oauth2/token');
    const verifier = form?.get('code_verifier') ?? '';
    expect(verifier).toMatch(/^[\w-]{43}$/);
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier)));
    expect(btoa(String.fromCharCode(...digest)).replaceAll('+', '-').replaceAll('/', '_').replace('=', '')).toBe(
      asked.get('code_challenge'),
    );
    expect(arrived).toEqual({
      tokens: { access: 'access', refresh: 'r', email: 'jürgen@clinic.example', renewAt: NOW + 3_540_000 },
      returnTo: '/jobs/1',
    });
  });

  it('leaves a visit alone that is no return', async () => {
    expect(await browser().signIn.finish(cameBack({ q: 'x' }))).toBeNull();
  });

  it('refuses a code that this tab did not ask for, and one that comes twice', async () => {
    const tab = browser();
    const asked = await gone(tab);
    await expect(tab.signIn.finish(cameBack({ code: 'c', state: 'forged' }))).rejects.toBeInstanceOf(SignInRefused);
    await expect(
      tab.signIn.finish(cameBack({ code: 'c', state: asked.get('state') ?? '' })),
    ).rejects.toBeInstanceOf(SignInRefused);
    expect(tab.posted).toEqual([]);
  });

  it('tells why signing in did not succeed', async () => {
    const tab = browser();
    const asked = await gone(tab);
    const query = { error: 'access_denied', error_description: 'User is disabled', state: asked.get('state') ?? '' };
    await expect(tab.signIn.finish(cameBack(query))).rejects.toThrow('User is disabled');
  });

  it('tells in one sentence whom the groups of single sign-on give no access, on return and at a renewal', async () => {
    const sentence = 'None of your groups gives access to Tessera; ask your administrator for one';
    const failure = { error: 'invalid_request', error_description: `PreTokenGeneration failed with error ${sentence}. ` };
    const tab = browser();
    const asked = await gone(tab);
    const back = tab.signIn.finish(cameBack({ ...failure, state: asked.get('state') ?? '' }));
    await expect(back).rejects.toThrow(new SignInRefused(`${sentence}.`));
    const held = { access: 'old', refresh: 'r', email: 'a@b.example', renewAt: 0 };
    await expect(browser(400, failure).signIn.refresh(held)).rejects.toThrow(new SignInRefused(`${sentence}.`));
    const other = { error: 'invalid_grant', error_description: 'Refresh Token has been revoked' };
    await expect(browser(400, other).signIn.refresh(held)).rejects.toThrow('Your session has ended. Sign in again.');
  });

  it('gives tokens that are renewed a minute before their end, short-lived ones after half of it', async () => {
    const held = { access: 'old', refresh: 'r', email: 'a@b.example', renewAt: 0 };
    const renewAtOf = async (expires_in: number) => (await browser(200, { ...GIVEN, expires_in }).signIn.refresh(held)).renewAt;
    expect(await renewAtOf(300)).toBe(NOW + 240_000);
    expect(await renewAtOf(20)).toBe(NOW + 10_000);
  });

  it('keeps the refresh token when a renewal brings no other, and says when it is worth nothing', async () => {
    const { access_token, id_token, expires_in } = GIVEN;
    const held = { access: 'old', refresh: 'kept', email: 'a@b.example', renewAt: 0 };
    const renewed = await browser(200, { access_token, id_token, expires_in }).signIn.refresh(held);
    expect(renewed).toMatchObject({ access: 'access', refresh: 'kept' });
    await expect(browser(400, { error: 'invalid_grant' }).signIn.refresh(held)).rejects.toBeInstanceOf(SignInRefused);
    await expect(browser(500, {}).signIn.refresh(held)).rejects.not.toBeInstanceOf(SignInRefused);
  });

  it('revokes the refresh token and leaves the session of the hosted page', async () => {
    const tab = browser(200, {});
    await tab.signIn.signOut({ access: 'a', refresh: 'r', email: 'e', renewAt: 0 });
    expect(tab.posted[0]?.url).toBe('https://sign-in.example/oauth2/revoke');
    expect(tab.posted[0]?.form.get('token')).toBe('r');
    expect(tab.went).toEqual([
      'https://sign-in.example/logout?client_id=client-1&logout_uri=https%3A%2F%2Fpage.example%2F',
    ]);
  });
});

it('leaves the session of the hosted page even when revoking fails', async () => {
  const tab = browser(500, {});
  await expect(tab.signIn.signOut({ access: 'a', refresh: 'r', email: 'e', renewAt: 0 })).rejects.toThrow('status 500');
  expect(tab.went).toHaveLength(1);
});

describe('a password', () => {
  const answering = (status: number, body: object): typeof fetch => () => Promise.resolve(Response.json(body, { status }));
  const given = { AccessToken: 'access', IdToken: GIVEN.id_token, ExpiresIn: 3600 };

  it('gives tokens, which are renewed without it', async () => {
    const signIn = makePasswordSignIn(
      CONFIG,
      answering(200, { AuthenticationResult: { ...given, RefreshToken: 'r' } }),
      () => NOW,
    );
    const tokens = await signIn.signIn('a@b.example', 'right');
    expect(tokens).toMatchObject({ access: 'access', refresh: 'r', renewAt: NOW + 3_540_000 });
    const renewing = makePasswordSignIn(CONFIG, answering(200, { AuthenticationResult: given }), () => NOW);
    expect((await renewing.refresh(tokens)).refresh).toBe('r');
  });

  it('that is wrong is told in one sentence', async () => {
    const signIn = makePasswordSignIn(CONFIG, answering(400, { __type: 'NotAuthorizedException' }));
    await expect(signIn.signIn('a@b.example', 'wrong')).rejects.toThrow(
      'The e-mail address or the password is wrong.',
    );
  });
});
