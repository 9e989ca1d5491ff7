import { describe, expect, it } from 'vitest';
import { formatViewport, parseViewport } from './viewport';

describe('the address', () => {
  it('says where one looks, and is read back', () => {
    expect(formatViewport({ x: 1203.4, y: 88.6, zoom: 0.123456 })).toBe('#x=1203&y=89&z=0.1235');
    expect(parseViewport('#x=1203&y=89&z=0.1235')).toEqual({ x: 1203, y: 89, zoom: 0.1235 });
  });

  it.each(['', '#', '#x=1&y=2', '#x=1&y=2&z=0', '#x=a&y=2&z=1', '#results'])('"%s" says nothing', (hash) => {
    expect(parseViewport(hash)).toBeNull();
  });
});
