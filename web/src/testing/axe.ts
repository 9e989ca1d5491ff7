import axe from 'axe-core';
import { expect } from 'vitest';

/** All rules but those on colours, which jsdom does not paint: tests/web looks at these in a browser. */
export async function expectAccessible(element: Element = document.body): Promise<void> {
  const { violations } = await axe.run(element, { rules: { 'color-contrast': { enabled: false } } });
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(', ')}`)).toEqual([]);
}
