import { describe, expect, it } from 'vitest';
import { type Draft, EMPTY_DRAFT, makeBody, makeEstimateBody, findFaults, parseNumber } from './draft';

const NEEDS = { needsMpp: false };
const draft = (changes: Partial<Draft> = {}): Draft => ({ ...EMPTY_DRAFT, model: { name: 'm', version: '2' }, ...changes });

describe('a draft', () => {
  it('makes a body of the chosen version, with nothing that was not filled in', () => {
    expect(makeBody(draft(), 's', NEEDS)).toEqual({
      slide_id: 's',
      model: 'm',
      model_version: '2',
      priority: 'normal',
      options: { min_tissue: 0.1, allow_upsampling: false, fast: false },
    });
  });

  it('carries all that was filled in, without the blanks around it', () => {
    const filled = draft({
      priority: 'high',
      label: ' study 7 ',
      email: ' a@b.example ',
      mpp: '0,25',
      minTissue: '35',
      allowUpsampling: true,
      fast: true,
      force: true,
      region: 'rectangle',
      rectangle: { x: '0', y: '10', width: '2000', height: '1000' },
    });
    expect(makeBody(filled, 's', NEEDS)).toEqual({
      slide_id: 's',
      model: 'm',
      model_version: '2',
      priority: 'high',
      label: 'study 7',
      mpp: 0.25,
      region: [0, 10, 2000, 1000],
      options: { min_tissue: 0.35, allow_upsampling: true, fast: true },
      notify: { email: 'a@b.example', webhook: null },
      force: true,
    });
  });

  it('carries drawn areas with what they count from', () => {
    const geojson = { type: 'Polygon', coordinates: [] };
    const drawn = draft({ region: 'drawn', drawn: { name: 'a.geojson', geojson } });
    expect(makeBody(drawn, 's', NEEDS)).toMatchObject({ region_geojson: geojson, region_frame: 'qupath' });
  });

  it.each([
    [{ model: null }, 'model'],
    [{ email: 'nobody' }, 'email'],
    [{ webhook: 'http://lab.example/hook' }, 'webhook'],
    [{ webhook: 'lab.example' }, 'webhook'],
    [{ mpp: '0' }, 'mpp'],
    [{ mpp: 'fine' }, 'mpp'],
    [{ mpp: '101' }, 'mpp'],
    [{ minTissue: '101' }, 'minTissue'],
    [{ minTissue: '' }, 'minTissue'],
    [{ region: 'rectangle' }, 'region'],
    [{ region: 'rectangle', rectangle: { x: '0', y: '0', width: '0', height: '9' } }, 'region'],
    [{ region: 'rectangle', rectangle: { x: '-1', y: '0', width: '9', height: '9' } }, 'region'],
    [{ region: 'rectangle', rectangle: { x: '0.5', y: '0', width: '9', height: '9' } }, 'region'],
    [{ region: 'drawn' }, 'region'],
  ] satisfies [Partial<Draft>, string][])('with %o has a fault in %s alone, and no body', (changes, field) => {
    expect(Object.keys(findFaults(draft(changes), NEEDS))).toEqual([field]);
    expect(makeBody(draft(changes), 's', NEEDS)).toBeNull();
  });

  it('needs a scale where the slide says none', () => {
    expect(findFaults(draft(), { needsMpp: true }).mpp).toMatch(/enter it in µm per pixel/);
    expect(findFaults(draft({ mpp: '0.5' }), { needsMpp: true })).toEqual({});
  });

  it('is estimated by what decides tiles alone', () => {
    const one = makeBody(draft({ mpp: '0.5' }), 's', NEEDS);
    const other = makeBody(draft({ mpp: '0.5', label: 'x', priority: 'low', email: 'a@b.example', force: true }), 's', NEEDS);
    expect(one && makeEstimateBody(one)).toEqual(other && makeEstimateBody(other));
    expect(one && makeEstimateBody(one)).toMatchObject({ slide_id: 's', mpp: 0.5 });
  });

  it('reads numbers with a point or a comma', () => {
    expect(['0.25', ' 0,25 ', '1e3', '', 'x', '1,2,3'].map(parseNumber)).toEqual([0.25, 0.25, 1000, null, null, null]);
  });
});
