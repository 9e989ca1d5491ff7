import { type SubmitEvent, useState } from 'react';
import { messageOf } from '../api/problem';
import { Button } from '../ui/Button';
import { TextField } from '../ui/fields/TextField';
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
      {signIn.kind === 'hosted' ? <HostedForm signIn={signIn} /> : <PasswordForm signIn={signIn} />}
      <p className="mt-8 text-sm text-muted">For research. Not a medical device.</p>
    </main>
  );
}

function HostedForm({ signIn }: { signIn: HostedSignIn }) {
  const session = useSession();
  const go = () => {
    const { pathname, search, hash } = window.location;
    signIn.redirect(pathname + search + hash).catch((error: unknown) => {
      session.endWithNotice(messageOf(error));
    });
  };
  return (
    <div className="mt-4 flex flex-col gap-4">
      <p className="text-sm text-muted">You sign in on your organisation’s sign-in page, and then return here.</p>
      <Button look="primary" onClick={go}>
        Sign in
      </Button>
    </div>
  );
}

function PasswordForm({ signIn }: { signIn: PasswordSignIn }) {
  const session = useSession();
  const [isBusy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<string>();

  async function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    setRefusal(undefined);
    try {
      session.begin(await signIn.signIn(readField(form, 'email'), readField(form, 'password')));
    } catch (error) {
      setRefusal(messageOf(error));
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
        The users of this local stack and their passwords are listed in <code className="font-mono">.tessera/stack.json</code>.
      </p>
    </form>
  );
}

function readField(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
}
