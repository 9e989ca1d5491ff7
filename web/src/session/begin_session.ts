import { messageOf } from '../api/problem';
import type { Config } from '../config/config';
import { makeHostedSignIn } from './hosted';
import { makePasswordSignIn } from './password';
import { Session } from './session';
import type { SignIn } from './sign_in';
import { TokenStore } from './tokens';

/** Start this tab's session, with the kind of sign-in that `config` names. Redeems a code in the address. */
export async function beginSession(config: Config): Promise<Session> {
  const signIn = config.signIn === 'hosted' ? makeHosted(config) : makePasswordSignIn(config);
  const session = new Session(signIn, new TokenStore(sessionStorage));
  await finishHostedSignIn(signIn, session);
  return session;
}

function makeHosted(config: Config): SignIn {
  return makeHostedSignIn(config, {
    origin: window.location.origin,
    storage: sessionStorage,
    go: (url) => {
      window.location.assign(url);
    },
    fetcher: (...request) => fetch(...request),
    now: Date.now,
  });
}

async function finishHostedSignIn(signIn: SignIn, session: Session): Promise<void> {
  if (signIn.kind !== 'hosted') return;
  try {
    const arrived = await signIn.finish(new URL(window.location.href));
    if (arrived === null) return;
    session.begin(arrived.tokens);
    window.history.replaceState(null, '', arrived.returnTo); // the code is used up, and must not be bookmarked
  } catch (error) {
    session.endWithNotice(messageOf(error));
    window.history.replaceState(null, '', '/');
  }
}
