import { screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it } from 'vitest';
import { expectAccessible } from '../../testing/axe';
import { FakeApi } from '../../testing/fakes';
import { ADMIN, VIEWER, makePage } from '../../testing/replies';
import { renderPage } from '../../testing/render';
import type { AuditLine } from './queries';

const makeLine = (number: number, changes: Partial<AuditLine> = {}): AuditLine => ({
  number,
  at: '2026-05-04T10:00:00Z',
  actor: 'user:7',
  actor_name: 'ada@hospital.example',
  action: 'slide.view',
  subject: 's1',
  detail: {},
  tenant: 't1',
  hash: '0'.repeat(64),
  ...changes,
});

describe('the audit log', () => {
  it('shows of each line who did what to what, and filters by whole values', async () => {
    const lines = [makeLine(2, { action: 'job.submit', detail: { reused: true } }), makeLine(1, { actor_name: null })];
    const api = new FakeApi({ 'GET /me': ADMIN, 'GET /audit': makePage(lines) });
    renderPage('/audit', api);
    const [, first, second] = await screen.findAllByRole('row');
    expect(first).toHaveTextContent(/2.*ada@hospital\.example.*user:7.*job\.submit.*s1.*reused: true/);
    expect(second).toHaveTextContent(/1.*user:7.*slide\.view/);
    await userEvent.type(screen.getByLabelText('Action'), 'slide.view');
    await expect
      .poll(() => api.seen.some(({ address }) => address.includes('/audit') && address.includes('action=slide.view')))
      .toBe(true);
    await expectAccessible();
  });

  it('is offered in the header to admins alone', async () => {
    const { unmount } = renderPage('/audit', new FakeApi({ 'GET /me': ADMIN, 'GET /audit': makePage([]) }));
    expect(await screen.findByRole('link', { name: 'Audit log' })).toBeVisible();
    expect(await screen.findByText('No lines yet')).toBeVisible();
    unmount();
    renderPage('/slides', new FakeApi({ 'GET /me': VIEWER, 'GET /slides': makePage([]) }));
    await screen.findByRole('link', { name: 'Jobs' });
    expect(screen.queryByRole('link', { name: 'Audit log' })).toBeNull();
  });
});
