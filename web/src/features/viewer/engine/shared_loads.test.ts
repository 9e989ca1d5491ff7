import { describe, expect, it } from 'vitest';
import { SharedLoads } from './shared_loads';

/** Make shared loads that end when the test says so. */
function scene() {
  const begun: { signal: AbortSignal; resolve: (value: string) => void; reject: (error: Error) => void }[] = [];
  const loads = new SharedLoads<string>();
  const get = (leaving = new AbortController()) => ({
    leaving,
    value: loads.get(
      'one',
      (signal) =>
        new Promise((resolve, reject) => {
          begun.push({ signal, resolve, reject });
        }),
      leaving.signal,
    ),
  });
  return { begun, get };
}

describe('SharedLoads', () => {
  it('loads once for all who wait, and anew afterwards', async () => {
    const { begun, get } = scene();
    const [one, other] = [get(), get()];
    begun[0]?.resolve('tile');
    await expect(Promise.all([one.value, other.value])).resolves.toEqual(['tile', 'tile']);
    get();
    expect(begun).toHaveLength(2);
  });

  it('goes on for those who stay, and ends when all have left', async () => {
    const { begun, get } = scene();
    const [one, other] = [get(), get()];
    one.leaving.abort();
    await expect(one.value).rejects.toThrow();
    expect(begun[0]?.signal.aborted).toBe(false);
    other.leaving.abort();
    await expect(other.value).rejects.toThrow();
    expect(begun[0]?.signal.aborted).toBe(true);
    const third = get();
    begun[1]?.resolve('tile');
    await expect(third.value).resolves.toBe('tile');
  });

  it('tells all of what went wrong, and tries again for who comes later', async () => {
    const { begun, get } = scene();
    const [one, other] = [get(), get()];
    begun[0]?.reject(new Error('The store did not answer.'));
    await expect(one.value).rejects.toThrow('The store did not answer.');
    await expect(other.value).rejects.toThrow('The store did not answer.');
    get();
    expect(begun).toHaveLength(2);
  });
});
