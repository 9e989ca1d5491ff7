/** The addresses of this installation, written by the deployment (cdk/web/stack.py) or by the local stack. */
export interface Config {
  apiUrl: string; // base of the routes in docs/openapi.json, at the page's own origin
  region: string;
  userPoolId: string;
  clientId: string;
  signInUrl: string; // Cognito's hosted page; in the local stack, Cognito's API itself
  realtimeUrl: string;
  signIn: 'hosted' | 'password';
}

const TEXTS = ['apiUrl', 'region', 'userPoolId', 'clientId', 'signInUrl', 'realtimeUrl'] as const;

/** Parse config.json. Throws an Error with a message for the administrator. */
export function readConfig(found: unknown): Config {
  const fields = (typeof found === 'object' && found !== null ? found : {}) as Record<string, unknown>;
  const missing = TEXTS.filter((name) => typeof fields[name] !== 'string');
  if (missing.length > 0) throw new Error(`/config.json of this installation lacks ${missing.join(', ')}.`);
  const texts = Object.fromEntries(TEXTS.map((name) => [name, fields[name]])) as Omit<Config, 'signIn'>;
  return { ...texts, signIn: fields['signIn'] === 'password' ? 'password' : 'hosted' };
}

/** Load config.json. Throws an Error with a message for the administrator. */
export async function loadConfig(fetcher: typeof fetch = fetch): Promise<Config> {
  const answer = await fetcher('/config.json', { cache: 'no-store' });
  if (!answer.ok) throw new Error(`This installation has no /config.json (status ${answer.status}).`);
  return readConfig(await answer.json());
}
