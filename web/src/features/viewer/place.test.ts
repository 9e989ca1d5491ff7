import { describe, expect, it } from 'vitest';
import { panesIn, searchOf } from './address';
import { hashOf, placeIn } from './place';

describe('the address', () => {
  it('says where one looks, and is read back', () => {
    expect(hashOf({ x: 1203.4, y: 88.6, zoom: 0.123456 })).toBe('#x=1203&y=89&z=0.1235');
    expect(placeIn('#x=1203&y=89&z=0.1235')).toEqual({ x: 1203, y: 89, zoom: 0.1235 });
  });

  it.each(['', '#', '#x=1&y=2', '#x=1&y=2&z=0', '#x=a&y=2&z=1', '#results'])('"%s" says nothing', (hash) => {
    expect(placeIn(hash)).toBeNull();
  });

  it.each([
    ['', [null]],
    ['job=a', ['a']],
    ['job=a&job=b', ['a', 'b']],
    ['job=a&beside=slide', ['a', null]],
  ] as const)('"%s" says which panes there are', (search, panes) => {
    expect(panesIn(new URLSearchParams(search))).toEqual(panes);
    expect(searchOf([...panes] as [string, string])).toBe(search);
  });
});
