import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { describe, expect, it } from 'vitest';
import { expectAccessible } from '../../testing/axe';
import { FakeApi } from '../../testing/fakes';
import { ADMIN, VIEWER } from '../../testing/replies';
import { renderPage } from '../../testing/render';
import { type Budget, type UsageLine, listMonths } from './queries';

const LINE: UsageLine = {
  day: null,
  model: null,
  model_version: null,
  requester: null,
  person: null,
  tiles: 120_000,
  worker_seconds: 5400,
  dollars: 1.5,
};
const BUDGET: Budget = { month: '2026-11-01', dollars_a_month: 10, dollars: 8.2, share: 0.82, stops: true };

function api(items: UsageLine[], budget: Budget | null = null, by = 'day') {
  const totals = { tiles: 120_000, worker_seconds: 5400, dollars: 1.5 };
  const answer = { body: { by, first: '2026-11-01', last: '2026-11-30', items, budget, ...totals } };
  return new FakeApi({ 'GET /me': ADMIN, 'GET /usage': answer });
}

describe('the page of usage', () => {
  it('shows what each line took, with a bar and in numbers', async () => {
    renderPage('/usage?by=person', api([{ ...LINE, requester: 'user:1', person: 'ada@hospital.example' }, { ...LINE, requester: 'user:2' }, LINE], null, 'person'));
    const table = await screen.findByRole('table', { name: 'Usage by person' });
    const [, first] = within(table).getAllByRole('row');
    expect(first).toHaveTextContent('ada@hospital.example120,0001.5 h$1.50');
    expect(within(table).getByRole('rowheader', { name: 'user:2' })).toBeVisible();
    expect(within(table).getByRole('rowheader', { name: 'Before an upgrade' })).toBeVisible();
    await expectAccessible();
  });

  it('asks for the month and the key that are chosen', async () => {
    const fake = api([{ ...LINE, day: '2026-11-02' }]);
    renderPage('/usage', fake);
    await userEvent.selectOptions(await screen.findByLabelText('Show by'), 'Model');
    const [, last = ''] = listMonths(new Date(), 2);
    await userEvent.selectOptions(screen.getByLabelText('Month'), last);
    await expect.poll(() => fake.seen.map(({ address }) => address).at(-1)).toMatch(new RegExp(`^/usage\\?by=model&from=${last}-01&to=${last}-(28|29|30|31)$`));
  });

  it.each([
    [BUDGET, 'Your administrators got a mail. At 100 % new jobs are refused.'],
    [{ ...BUDGET, share: 0.2, stops: false }, 'Your administrators get a mail at 80 %. At 100 % jobs still start.'],
    [{ ...BUDGET, share: 1.2 }, 'New jobs are refused until next month, or until your operator raises it.'],
    [{ ...BUDGET, share: null, dollars_a_month: 0, stops: false }, 'Jobs still start.'],
  ])('says what is used of the budget and what follows', async (budget, said) => {
    renderPage('/usage', api([{ ...LINE, day: '2026-11-02' }], budget));
    expect(await screen.findByText(said)).toBeVisible();
    expect(screen.getByRole('progressbar', { name: 'Budget used' })).toBeVisible();
  });

  it('says so when nothing was analysed', async () => {
    renderPage('/usage', api([]));
    expect(await screen.findByText('No analysis in this month')).toBeVisible();
  });

  it('is in the navigation of administrators alone', async () => {
    renderPage('/usage', api([]));
    expect(await screen.findByRole('link', { name: 'Usage' })).toBeVisible();
    renderPage('/slides', new FakeApi({ 'GET /me': VIEWER }));
    expect(screen.getAllByRole('link', { name: 'Usage' })).toHaveLength(1);
  });

  it('lists months over the end of a year', () => {
    expect(listMonths(new Date('2026-01-31T23:59:59Z'), 3)).toEqual(['2026-01', '2025-12', '2025-11']);
  });
});
