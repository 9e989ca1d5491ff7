import { describe, expect, it } from 'vitest';
import { readCard, sortModels } from './model_card';
import { findMisfits } from './model_fit';
import { describeCard } from './ModelChoice';
import { makeModel } from '../testing';

const card = (fields: Record<string, unknown> = {}) => readCard(makeModel('m', fields));
const ASKED = { allowUpsampling: true };
const NOT_ASKED = { allowUpsampling: false };

describe('a slide and a model', () => {
  it('fit when the slide is as fine as the model or finer, as scanners round', () => {
    for (const mpp of [0.25, 0.499, 0.5, 0.509]) expect(findMisfits([mpp, mpp], card(), NOT_ASKED)).toEqual([]);
  });

  it('do not fit when the slide is coarser, and what one can do is fields', () => {
    const [found] = findMisfits([1, 1], card(), NOT_ASKED);
    expect(found?.tone).toBe('bad');
    expect(found?.sentence).toMatch(/1 µm per pixel; the model needs 0.5 or finer.*allow upsampling/);
  });

  it('are a warning once the job or the card allows upsampling', () => {
    expect(findMisfits([1, 1], card(), ASKED).map(({ tone }) => tone)).toEqual(['warn']);
    expect(findMisfits([1, 1], card({ allow_upsampling: true }), NOT_ASKED).map(({ tone }) => tone)).toEqual(['warn']);
  });

  it('are refused beyond the range that the card states, unless the job allows it', () => {
    const stated = card({ allow_upsampling: true, mpp_range: [0.2, 0.6] });
    expect(findMisfits([0.6, 0.6], stated, NOT_ASKED).map(({ tone }) => tone)).toEqual(['warn']);
    expect(findMisfits([1, 1], stated, NOT_ASKED).map(({ tone }) => tone)).toEqual(['bad', 'warn']);
    expect(findMisfits([1, 1], stated, ASKED).map(({ tone }) => tone)).toEqual(['warn', 'warn']);
  });

  it('are warned of when the slide is finer than any that the model was tried on', () => {
    const [found] = findMisfits([0.1, 0.1], card({ mpp_range: [0.2, 0.6] }), NOT_ASKED);
    expect(found).toMatchObject({ tone: 'warn', sentence: expect.stringMatching(/validated for 0.2 to 0.6/) as string });
  });

  it('are judged by the longer side of a pixel that is not square', () => {
    expect(findMisfits([0.25, 1], card(), NOT_ASKED)[0]?.sentence).toMatch(/0.25 × 1 µm/);
  });

  it('say nothing while the scale is not known', () => {
    expect(findMisfits(null, card({ mpp_range: [0.2, 0.6] }), NOT_ASKED)).toEqual([]);
  });
});

describe('a card', () => {
  it('says what it does not say', () => {
    expect(describeCard(readCard({ card: {} }))).toEqual([
      'stain not stated',
      'scale not stated',
      '0 values a tile',
      'licence not stated',
    ]);
  });

  it('is told in a line', () => {
    const fields = { stain: 'H&E', organ: 'prostate', licence: 'MIT', mpp: 1, mpp_range: [0.5, 1], columns: [{ name: 'p' }] };
    expect(describeCard(card(fields))).toEqual([
      'for H&E',
      'made for prostate',
      '1 µm per pixel, validated for slides of 0.5 to 1',
      '1 value a tile',
      'licence MIT',
    ]);
  });

  it('names what a model gives that has no columns', () => {
    const ofKind = (fields: Record<string, unknown>) => describeCard(card({ columns: [], licence: 'Apache-2.0', kind: 'builtin', ...fields }));
    expect(ofKind({ output: 'embedding', embedding: { dimensions: 1280, pooling: 'cls' } })).toEqual([
      'stain not stated',
      '0.5 µm per pixel',
      'a vector of 1,280 numbers a tile',
      'licence Apache-2.0',
    ]);
    expect(ofKind({ output: 'detection', objects: { classes: ['Nucleus'] } })).toContain('outlines of Nucleus');
    expect(ofKind({ output: 'detection', objects: { classes: ['Tumour', 'Stroma', 'Other'] } })).toContain('outlines of Tumour, Stroma and Other');
  });

  it('stands by name, the version that jobs take before newer and older ones', () => {
    const versions = ['1.9', '1.10', '1.2'].map((version) => makeModel('b', {}, { version, is_default: version === '1.2' }));
    const found = sortModels([...versions, makeModel('a')]).map(({ name, version }) => `${name} ${version}`);
    expect(found).toEqual(['a 1.0', 'b 1.2', 'b 1.10', 'b 1.9']);
  });
});
