import { render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { beforeEach, describe, expect, it } from 'vitest';
import { Session } from '../session/session';
import { TokenStore } from '../session/tokens';
import { expectAccessible } from '../testing/axe';
import { FakeApi, makeFakeSignIn, type Reply, makeSession } from '../testing/fakes';
import { renderPage } from '../testing/render';
import { App } from './App';

const ME: Reply = { body: { tenant: 't', subject: 'user:1', role: 'viewer' } };
const NONE: Reply = { body: { items: [], next_cursor: null } };
const REFUSED: Reply = { status: 401, body: { type: '/problems/unauthenticated', detail: 'The token is unknown.' } };

const nobody = () => new Session(makeFakeSignIn(), new TokenStore(sessionStorage));

beforeEach(() => {
  window.history.replaceState(null, '', '/slides');
});

async function signIn(password: string) {
  await userEvent.type(screen.getByLabelText('E-mail address'), 'viewer@first.example');
  await userEvent.type(screen.getByLabelText('Password'), password);
  await userEvent.click(screen.getByRole('button', { name: 'Sign in' }));
}

describe('the page', () => {
  it('asks who one is before it asks the API for anything', async () => {
    const api = new FakeApi({ 'GET /me': ME, 'GET /slides': NONE });
    const session = nobody();
    render(<App session={session} api={api.client(session)} />);
    expect(screen.getByRole('heading', { name: 'Sign in to Tessera' })).toBeVisible();
    expect(api.seen).toEqual([]);
    await expectAccessible();
    await signIn('right');
    expect(await screen.findByText('viewer@first.example · viewer')).toBeVisible();
  });

  it('tells that a password is wrong, and lets one try again', async () => {
    const session = nobody();
    render(<App session={session} api={new FakeApi({}).client(session)} />);
    await signIn('wrong');
    expect(await screen.findByRole('alert')).toHaveTextContent('The e-mail address or the password is wrong.');
    expect(screen.getByRole('button', { name: 'Sign in' })).not.toHaveAttribute('aria-disabled');
  });

  it('forgets everything at a sign-out', async () => {
    const session = makeSession();
    render(<App session={session} api={new FakeApi({ 'GET /me': ME, 'GET /slides': NONE }).client(session)} />);
    await userEvent.click(await screen.findByRole('button', { name: 'Sign out' }));
    expect(await screen.findByRole('heading', { name: 'Sign in to Tessera' })).toBeVisible();
    expect(sessionStorage).toHaveLength(0);
  });

  it('asks somebody whom the API does not know to sign in again, and says why', async () => {
    const session = makeSession();
    render(<App session={session} api={new FakeApi({ 'GET /me': REFUSED, 'GET /slides': REFUSED }).client(session)} />);
    expect(await screen.findByRole('heading', { name: 'Sign in to Tessera' })).toBeVisible();
    expect(screen.getByText(/this account has no access any more/)).toBeVisible();
  });

  it('has a page for addresses that lead nowhere', async () => {
    renderPage('/nowhere', new FakeApi({ 'GET /me': ME }));
    expect(await screen.findByRole('heading', { name: 'This address leads nowhere' })).toBeVisible();
    await expectAccessible();
  });

  it('is dark when somebody says so, and stays it', async () => {
    renderPage('/slides', new FakeApi({ 'GET /me': ME, 'GET /slides': NONE }));
    await userEvent.click(await screen.findByRole('button', { name: 'Dark mode', pressed: false }));
    expect(document.documentElement).toHaveAttribute('data-theme', 'dark');
    expect(localStorage.getItem('tessera.theme')).toBe('dark');
    await userEvent.click(screen.getByRole('button', { name: 'Dark mode', pressed: true }));
    expect(document.documentElement).toHaveAttribute('data-theme', 'light');
  });
});
