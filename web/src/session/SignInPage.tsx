import { type SubmitEvent, useState } from 'react';
import { sentenceOf } from '../api/problem';
import { Button } from '../ui/Button';
import { TextField } from '../ui/TextField';
import { useSession, useSessionState } from './context';
import type { HostedSignIn, PasswordSignIn } from './sign_in';

export function SignInPage() {
  const { signIn } = useSession();
  const { notice } = useSessionState();
  return (
    <main className="mx-auto flex min-h-screen max-w-sm flex-col justify-center px-4 py-12">
      <title>Sign in – Tessera</title>
      <img src="/icon.svg" alt="" className="mb-4 size-10" />
      <h1 className="text-xl font-semibold">Sign in to Tessera</h1>
      {notice && (
        <p role="alert" className="mt-3 rounded-md bg-warn-soft px-3 py-2 text-sm text-warn">
          {notice}
        </p>
      )}
      {signIn.kind === 'hosted' ? <Hosted signIn={signIn} /> : <Password signIn={signIn} />}
      <p className="mt-8 text-sm text-muted">For research. Not a medical device.</p>
    </main>
  );
}

function Hosted({ signIn }: { signIn: HostedSignIn }) {
  const session = useSession();
  const go = () => {
    const { pathname, search, hash } = window.location;
    signIn.go(pathname + search + hash).catch((error: unknown) => {
      session.refuse(sentenceOf(error));
    });
  };
  return (
    <div className="mt-4 flex flex-col gap-4">
      <p className="text-sm text-muted">You sign in on a page of your organisation’s user pool and come back here.</p>
      <Button look="primary" onClick={go}>
        Sign in
      </Button>
    </div>
  );
}

function Password({ signIn }: { signIn: PasswordSignIn }) {
  const session = useSession();
  const [isBusy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<string>();

  async function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    setRefusal(undefined);
    try {
      session.begin(await signIn.withPassword(textOf(form, 'email'), textOf(form, 'password')));
    } catch (error) {
      setRefusal(sentenceOf(error));
      setBusy(false);
    }
  }

  return (
    <form className="mt-4 flex flex-col gap-4" onSubmit={(event) => void submit(event)}>
      <TextField label="E-mail address" name="email" type="email" autoComplete="username" required />
      <TextField label="Password" name="password" type="password" autoComplete="current-password" required />
      {refusal && (
        <p role="alert" className="text-sm text-bad">
          {refusal}
        </p>
      )}
      <Button look="primary" type="submit" busy={isBusy}>
        Sign in
      </Button>
      <p className="text-sm text-muted">
        The people of this local stack and their passwords are in <code className="font-mono">.tessera/stack.json</code>.
      </p>
    </form>
  );
}

function textOf(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
}
