import axe from 'axe-core';
import { expect } from 'vitest';

/** Check all of axe's rules except those on colours, which jsdom does not paint: tests/web checks them in a browser. */
export async function expectAccessible(element: Element = document.body): Promise<void> {
  const { violations } = await axe.run(element, { rules: { 'color-contrast': { enabled: false } } });
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(', ')}`)).toEqual([]);
}
