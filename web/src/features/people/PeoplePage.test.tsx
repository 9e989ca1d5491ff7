import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { expect, it } from 'vitest';
import { expectAccessible } from '../../testing/axe';
import { FakeApi, type Reply } from '../../testing/fakes';
import { renderPage } from '../../testing/render';
import type { Invited, Key, NewKey, Person } from './queries';

const ADA: Person = {
  person_id: 'p1',
  email: 'ada@hospital.example',
  role: 'admin',
  disabled: false,
  disabled_at: null,
  created_at: '2026-11-28T12:00:00Z',
};
const BO: Person = { ...ADA, person_id: 'p2', email: 'bo@hospital.example', role: 'analyst' };
const KEY: Key = {
  key_id: 'k1',
  name: 'scanner',
  prefix: 'abc',
  role: 'analyst',
  works: true,
  created_at: '2026-11-28T12:00:00Z',
  expires_at: null,
  revoked_at: null,
  last_used_at: '2026-11-29T08:00:00Z',
};
const INVITED: Invited = {
  invitation_id: 'i1',
  email: 'cy@hospital.example',
  role: 'viewer',
  expires_at: '2026-12-01T12:00:00Z',
  created_at: '2026-11-28T12:00:00Z',
  password: null,
};

const api = (replies: Record<string, Reply | Reply[]> = {}, role = 'admin') =>
  new FakeApi({
    'GET /me': { body: { tenant: 't', subject: 'user:1', name: null, role } },
    'GET /admin/people': { body: { items: [ADA, BO] } },
    'GET /admin/invitations': { body: { items: [INVITED] } },
    'GET /admin/keys': { body: { items: [KEY, { ...KEY, key_id: 'k2', name: 'old', works: false }] } },
    ...replies,
  });

const sent = (fake: FakeApi) => fake.seen.filter(({ method }) => method !== 'GET').map(({ method, address, body }) => ({ method, address, body }));

it('lists people, invitations and the keys that work', async () => {
  const { container } = renderPage('/people', api());
  expect(await screen.findByRole('rowheader', { name: 'bo@hospital.example' })).toBeVisible();
  expect(await screen.findByRole('rowheader', { name: 'cy@hospital.example' })).toBeVisible();
  const keys = await screen.findByRole('table', { name: 'API keys that work' });
  expect(within(keys).getByText('29 Nov 2026', { exact: false })).toBeVisible();
  expect(within(keys).queryByText('old')).toBeNull();
  expect(screen.getByRole('link', { name: 'People' })).toBeVisible();
  await expectAccessible(container);
});

it.each(['viewer', 'analyst', 'operator'])('shows a %s nothing and asks for nothing', async (role) => {
  const fake = api({}, role);
  renderPage('/people', fake);
  expect(await screen.findByText(/Ask an admin of your organisation/)).toBeVisible();
  expect(screen.queryByRole('link', { name: 'People' })).toBeNull();
  expect(fake.seen.filter(({ address }) => address.startsWith('/admin'))).toEqual([]);
});

it('invites a person, and shows a password where no mail brings one', async () => {
  const user = userEvent.setup();
  const fake = api({ 'POST /admin/invitations': { status: 201, body: { ...INVITED, email: 'di@hospital.example', password: 'first-password' } } });
  renderPage('/people', fake);
  await user.click(await screen.findByRole('button', { name: 'Invite a person' }));
  const dialog = screen.getByRole('dialog', { name: 'Invite a person' });
  await user.click(within(dialog).getByRole('button', { name: 'Invite' }));
  expect(within(dialog).getByText('Enter an e-mail address.')).toBeVisible();
  await user.type(within(dialog).getByLabelText('E-mail address'), 'di@hospital.example');
  await user.selectOptions(within(dialog).getByLabelText('Role'), 'analyst');
  await user.click(within(dialog).getByRole('button', { name: 'Invite' }));
  expect(await within(dialog).findByText('first-password')).toBeVisible();
  expect(sent(fake)).toEqual([
    { method: 'POST', address: '/admin/invitations', body: { email: 'di@hospital.example', role: 'analyst' } },
  ]);
  await user.click(within(dialog).getByRole('button', { name: 'Done' }));
  expect(screen.queryByText('first-password')).toBeNull();
});

it('makes a key and shows it once', async () => {
  const user = userEvent.setup();
  const made: NewKey = { ...KEY, key_id: 'k3', name: 'robot', key: 'tsk_abc_secret' };
  renderPage('/people', api({ 'POST /admin/keys': { status: 201, body: made } }));
  await user.click(await screen.findByRole('button', { name: 'New key' }));
  const dialog = screen.getByRole('dialog', { name: 'New API key' });
  await user.type(within(dialog).getByLabelText('Name'), 'robot');
  await user.click(within(dialog).getByRole('button', { name: 'Make the key' }));
  expect(await within(dialog).findByText('tsk_abc_secret')).toBeVisible();
  await user.click(within(dialog).getByRole('button', { name: 'Done' }));
  await user.click(screen.getByRole('button', { name: 'New key' }));
  expect(screen.queryByText('tsk_abc_secret')).toBeNull();
});

it('changes a role, and disables and revokes after asking', async () => {
  const user = userEvent.setup();
  const fake = api({
    'PATCH /admin/people/p2': [{ body: { ...BO, role: 'viewer' } }, { body: { ...BO, disabled: true } }],
    'DELETE /admin/keys/k1': { body: { ...KEY, works: false } },
    'DELETE /admin/invitations/i1': { status: 204 },
  });
  renderPage('/people', fake);
  await user.selectOptions(await screen.findByLabelText('Role of bo@hospital.example'), 'viewer');
  expect(await screen.findByText('bo@hospital.example is viewer now.')).toBeVisible();
  for (const [button, confirm, outcome] of [
    ['Disable bo@hospital.example', 'Disable', 'bo@hospital.example was disabled.'],
    ['Revoke scanner', 'Revoke', 'The key scanner was revoked.'],
    ['Withdraw cy@hospital.example', 'Withdraw', 'The invitation of cy@hospital.example was withdrawn.'],
  ] as const) {
    await user.click(screen.getByRole('button', { name: button }));
    await user.click(within(screen.getByRole('dialog')).getByRole('button', { name: confirm }));
    expect(await screen.findByText(outcome)).toBeVisible();
  }
  expect(sent(fake).map(({ method, address, body }) => [method, address, body])).toEqual([
    ['PATCH', '/admin/people/p2', { role: 'viewer' }],
    ['PATCH', '/admin/people/p2', { disabled: true }],
    ['DELETE', '/admin/keys/k1', undefined],
    ['DELETE', '/admin/invitations/i1', undefined],
  ]);
});

it('says why the last admin stays', async () => {
  const user = userEvent.setup();
  const detail = 'This would remove the last admin; make somebody else an admin first.';
  const problem = { type: '/problems/conflict', title: 'Conflict', status: 409, detail, traceparent: '00-1' };
  renderPage('/people', api({ 'PATCH /admin/people/p1': { status: 409, body: problem } }));
  await user.selectOptions(await screen.findByLabelText('Role of ada@hospital.example'), 'viewer');
  expect(await screen.findByText(detail)).toBeVisible();
  await waitFor(() => {
    expect(screen.getByLabelText('Role of ada@hospital.example')).toHaveValue('admin');
  });
});
