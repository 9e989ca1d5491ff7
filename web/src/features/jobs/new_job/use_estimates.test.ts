import { describe, expect, it } from 'vitest';
import { formatMoney } from '../../../ui/format';
import { ESTIMATE } from '../testing';
import { formatTileCount, sumEstimates } from './use_estimates';

describe('estimates', () => {
  it('add up, and are exact only where all are', () => {
    expect(sumEstimates([ESTIMATE, ESTIMATE])).toEqual({ tiles: 2408, shards: 4, seconds: 1440, dollars: 0.24, measured: true, exact: true, warnings: [] });
    expect(sumEstimates([ESTIMATE, { ...ESTIMATE, exact: false }]).exact).toBe(false);
    const warned = { ...ESTIMATE, warnings: ['The region leaves out 1 line.'] };
    expect(sumEstimates([ESTIMATE, warned, warned]).warnings).toEqual(warned.warnings);
  });

  it('round what is a near count, and no exact one', () => {
    expect(formatTileCount(ESTIMATE)).toBe('1,204');
    expect(formatTileCount({ ...ESTIMATE, exact: false })).toBe('about 1,200');
  });

  it('name amounts as people do', () => {
    expect([0, 0.004, 0.126, 12].map(formatMoney)).toEqual(['$0', 'less than $0.01', '$0.13', '$12.00']);
  });
});
