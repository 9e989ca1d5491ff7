import { expect, it } from 'vitest';
import { NO_OPTIONS } from '../transfer/upload_server';
import { describeOptions, describeProgress } from './labels';

it('progress is shown with the speed and the time left', () => {
  expect(describeProgress({ arrived: 1.2e9, size: 3.2e9, speed: 45e6 })).toBe('1.2 GB of 3.2 GB · 45 MB/s · 44 s left');
  expect(describeProgress({ arrived: 1.2e9, size: 3.2e9, speed: null })).toBe('1.2 GB of 3.2 GB');
  expect(describeProgress({ arrived: 1.2e9, size: 3.2e9, speed: 0 })).toBe('1.2 GB of 3.2 GB');
});

it('stated values are listed, and others are not', () => {
  const stated = { mpp: 0.25, optical_path: '1', focal_plane: 3, picture: 2 };
  expect(describeOptions({ ...NO_OPTIONS, ...stated })).toBe('0.25 µm per pixel, optical path 1, focal plane 3, image 2');
  expect(describeOptions(NO_OPTIONS)).toBe('');
});
