import { describe, expect, it } from 'vitest';
import { aJob } from '../../testing/jobs';
import { SILENT, spokenAfter } from './spoken';

describe('what is read aloud', () => {
  it('is each stage at once', () => {
    const planning = spokenAfter(SILENT, aJob({ status: 'PLANNING' }), null, 0);
    expect(planning.text).toBe('Planning.');
    expect(spokenAfter(planning, aJob(), null, 100).text).toBe('Running.');
  });

  it('is progress no more than twice a minute, however often it is pushed', () => {
    let spoken = spokenAfter(SILENT, aJob({ progress: 0 }), null, 0);
    const said = new Set([spoken.text]);
    for (let second = 1; second <= 120; second++) {
      spoken = spokenAfter(spoken, aJob({ progress: second / 120, progress_seq: second }), 'about 1 min', second * 1000);
      said.add(spoken.text);
    }
    expect(said.size).toBe(1 + 4);
    expect(spoken.text).toBe('100 percent of the tiles are done, about 1 min left.');
  });

  it('is nothing when nothing moved', () => {
    const half = spokenAfter({ text: '', status: 'RUNNING', at: 0 }, aJob({ progress: 0.5 }), null, 30_000);
    expect(spokenAfter(half, aJob({ progress: 0.5 }), null, 90_000)).toBe(half);
  });

  it('is the sentence of a failure', () => {
    const failed = aJob({ status: 'FAILED', sentence: 'The slide was replaced.' });
    expect(spokenAfter(SILENT, failed, null, 0).text).toBe('Failed. The slide was replaced.');
  });
});
