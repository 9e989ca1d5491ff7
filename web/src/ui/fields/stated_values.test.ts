import { describe, expect, it } from 'vitest';
import { NOTHING_TYPED, parseStated } from './stated_values';

describe('the advanced fields', () => {
  it('are read as people type them', () => {
    const { stated } = parseStated({ mpp: ' 0,25 ', optical_path: '1', focal_plane: '3', picture: '2' });
    expect(stated).toEqual({ mpp: 0.25, optical_path: '1', focal_plane: 3, picture: 2 });
    expect(parseStated(NOTHING_TYPED)).toEqual({ stated: { mpp: null, optical_path: null, focal_plane: null, picture: null }, wrong: {} });
  });

  it('are refused with what would be right', () => {
    expect(parseStated({ mpp: '40x', optical_path: '', focal_plane: '0', picture: '1.5' }).wrong).toEqual({
      mpp: 'Enter microns per pixel, such as 0.25.',
      focal_plane: 'Enter a whole number from 1.',
      picture: 'Enter a whole number from 1.',
    });
  });
});
