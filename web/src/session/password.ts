/** Sign-in by password through Cognito's own API. Only the local stack's app client allows it; on AWS it is disabled. */
import type { Config } from '../config/config';
import { type PasswordSignIn, SignInRefused } from './sign_in';
import { makeTokens } from './tokens';

interface AuthenticationAnswer {
  AuthenticationResult: { AccessToken: string; IdToken: string; RefreshToken?: string; ExpiresIn: number };
}

export function makePasswordSignIn(
  config: Config,
  fetcher: typeof fetch = fetch,
  now: () => number = Date.now,
): PasswordSignIn {
  async function ask(operation: string, body: Record<string, unknown>, refusal: string): Promise<unknown> {
    const answer = await fetcher(`${config.signInUrl}/`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/x-amz-json-1.1',
        'X-Amz-Target': `AWSCognitoIdentityProviderService.${operation}`,
      },
      body: JSON.stringify({ ...body, ClientId: config.clientId }),
    });
    if (answer.status === 400) throw new SignInRefused(refusal);
    if (!answer.ok) throw new Error(`Signing in is not possible now (status ${answer.status}).`);
    return answer.json();
  }

  async function authenticate(flow: string, parameters: Record<string, string>, refusal: string, refresh = '') {
    const requestedAt = now();
    const body = { AuthFlow: flow, AuthParameters: parameters };
    const { AuthenticationResult: given } = (await ask('InitiateAuth', body, refusal)) as AuthenticationAnswer;
    return makeTokens(
      { access_token: given.AccessToken, id_token: given.IdToken, expires_in: given.ExpiresIn },
      given.RefreshToken ?? refresh,
      requestedAt,
    );
  }

  return {
    kind: 'password',
    signIn: (email, password) =>
      authenticate(
        'USER_PASSWORD_AUTH',
        { USERNAME: email, PASSWORD: password },
        'The e-mail address or the password is wrong.',
      ),
    refresh: ({ refresh }) =>
      authenticate('REFRESH_TOKEN_AUTH', { REFRESH_TOKEN: refresh }, 'Your session has ended. Sign in again.', refresh),
    async signOut({ refresh }) {
      await ask('RevokeToken', { Token: refresh }, 'The session had ended already.');
    },
  };
}
