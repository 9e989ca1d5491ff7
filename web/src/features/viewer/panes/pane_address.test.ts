import { expect, it } from 'vitest';
import { formatPanes, parsePanes } from './pane_address';

it.each([
  ['', [null]],
  ['job=a', ['a']],
  ['job=a&job=b', ['a', 'b']],
  ['job=a&beside=slide', ['a', null]],
] as const)('"%s" says which panes there are', (search, panes) => {
  expect(parsePanes(new URLSearchParams(search))).toEqual(panes);
  expect(formatPanes([...panes] as [string, string])).toBe(search);
});
