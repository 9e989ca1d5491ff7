import { useState } from 'react';
import { NavLink } from 'react-router';
import { hasRole, useMe } from '../session/roles';
import { useSession, useSessionState } from '../session/context';
import { canLeave } from '../session/leave_guard';
import { Button } from '../ui/Button';
import { Dialog } from '../ui/Dialog';
import { FEATURES } from './feature';
import { useTheme } from './theme';

export function Header() {
  const me = useMe();
  const places = FEATURES.flatMap(({ navigation }) => navigation ?? [])
    .filter(({ role }) => role === 'viewer' || hasRole(me.data?.role, role))
    .sort((one, other) => one.order - other.order);
  return (
    <header className="border-b border-line bg-raised">
      <div className="mx-auto flex min-h-14 max-w-7xl flex-wrap items-center gap-x-6 gap-y-1 px-4 py-1.5 max-lg:gap-x-2">
        <NavLink to="/slides" className="flex items-center gap-2 font-semibold">
          <img src="/icon.svg" alt="" className="size-6" />
          Tessera
        </NavLink>
        <nav aria-label="Main">
          <ul className="flex gap-1">
            {places.map(({ label, to }) => (
              <li key={to}>
                <NavLink
                  to={to}
                  className="block rounded-md px-3 py-1.5 text-sm text-muted hover:bg-sunken hover:text-ink aria-[current=page]:bg-sunken aria-[current=page]:font-medium aria-[current=page]:text-ink"
                >
                  {label}
                </NavLink>
              </li>
            ))}
          </ul>
        </nav>
        {FEATURES.map(({ status: Status }, index) => Status && <Status key={index} />)}
        <PersonMenu />
      </div>
    </header>
  );
}

function PersonMenu() {
  const { email } = useSessionState();
  const me = useMe();
  const [theme, setTheme] = useTheme();
  return (
    <div className="ml-auto flex flex-wrap items-center gap-1 text-sm">
      <Button
        look="quiet"
        aria-pressed={theme === 'dark'}
        onClick={() => {
          setTheme(theme === 'dark' ? 'light' : 'dark');
        }}
      >
        Dark mode
      </Button>
      <span className="truncate px-2 text-muted max-lg:max-w-60" title={email ?? undefined}>
        {email}
        {me.data && ` · ${me.data.role}`}
      </span>
      <SignOut />
    </div>
  );
}

function SignOut() {
  const session = useSession();
  const [isAsking, setAsking] = useState(false);
  const stay = () => {
    setAsking(false);
  };
  return (
    <>
      <Button
        look="quiet"
        onClick={() => {
          if (canLeave()) void session.end();
          else setAsking(true);
        }}
      >
        Sign out
      </Button>
      <Dialog
        title="Sign out while slides are being uploaded?"
        open={isAsking}
        onClose={stay}
        actions={
          <>
            <Button onClick={stay}>Stay signed in</Button>
            <Button look="danger" onClick={() => void session.end()}>
              Stop and sign out
            </Button>
          </>
        }
      >
        The uploads stop. To continue them later, sign in again in this browser and choose the same files.
      </Dialog>
    </>
  );
}
