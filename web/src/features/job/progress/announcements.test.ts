import { describe, expect, it } from 'vitest';
import { makeJob } from '../../../testing/jobs';
import { NO_ANNOUNCEMENT, nextAnnouncement } from './announcements';

describe('what is read aloud', () => {
  it('is each stage at once', () => {
    const planning = nextAnnouncement(NO_ANNOUNCEMENT, makeJob({ status: 'PLANNING' }), null, 0);
    expect(planning.text).toBe('Planning.');
    expect(nextAnnouncement(planning, makeJob(), null, 100).text).toBe('Running.');
  });

  it('is progress no more than twice a minute, however often it is pushed', () => {
    let spoken = nextAnnouncement(NO_ANNOUNCEMENT, makeJob({ progress: 0 }), null, 0);
    const texts = new Set([spoken.text]);
    for (let second = 1; second <= 120; second++) {
      spoken = nextAnnouncement(spoken, makeJob({ progress: second / 120, progress_seq: second }), 'about 1 min', second * 1000);
      texts.add(spoken.text);
    }
    expect(texts.size).toBe(1 + 4);
    expect(spoken.text).toBe('100 percent of the tiles are done, about 1 min left.');
  });

  it('is nothing when nothing moved', () => {
    const half = nextAnnouncement({ text: '', status: 'RUNNING', at: 0 }, makeJob({ progress: 0.5 }), null, 30_000);
    expect(nextAnnouncement(half, makeJob({ progress: 0.5 }), null, 90_000)).toBe(half);
  });

  it('is the sentence of a failure', () => {
    const failed = makeJob({ status: 'FAILED', sentence: 'The slide was replaced.' });
    expect(nextAnnouncement(NO_ANNOUNCEMENT, failed, null, 0).text).toBe('Failed. The slide was replaced.');
  });
});
