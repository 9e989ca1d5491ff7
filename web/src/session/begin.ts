import { sentenceOf } from '../api/problem';
import type { Config } from '../config/config';
import { hostedSignIn } from './hosted';
import { passwordSignIn } from './password';
import { Session } from './session';
import type { SignIn } from './sign_in';
import { TokenStore } from './tokens';

/** The session of this tab, in the way of signing in that `config` names; with a code in the address it is used up. */
export async function beginSession(config: Config): Promise<Session> {
  const signIn = config.signIn === 'hosted' ? hosted(config) : passwordSignIn(config);
  const session = new Session(signIn, new TokenStore(sessionStorage));
  await takeCode(signIn, session);
  return session;
}

function hosted(config: Config): SignIn {
  return hostedSignIn(config, {
    origin: window.location.origin,
    storage: sessionStorage,
    go: (url) => {
      window.location.assign(url);
    },
    fetcher: (...request) => fetch(...request),
    now: Date.now,
  });
}

async function takeCode(signIn: SignIn, session: Session): Promise<void> {
  if (signIn.kind !== 'hosted') return;
  try {
    const arrived = await signIn.arrive(new URL(window.location.href));
    if (arrived === null) return;
    session.begin(arrived.tokens);
    window.history.replaceState(null, '', arrived.returnTo); // the code is worthless now, and no bookmark
  } catch (error) {
    session.refuse(sentenceOf(error));
    window.history.replaceState(null, '', '/');
  }
}
