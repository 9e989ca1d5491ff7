/**
 * Whether a slide fits a model, by the rules of wsi/scale.py, so that one learns of it while choosing. The API decides:
 * its dry run refuses what can not be planned.
 */
import { mppWords } from '../../api/inspection';
import type { Card } from './card';

const TOLERANCE = 1.02; // as wsi/scale.py: scanners write 0.499 for 0.5

export interface Misfit {
  tone: 'warn' | 'bad'; // bad: it will be refused
  sentence: string;
}

type Mpp = readonly [number, number]; // µm a pixel, across and down

/** `mpp` is what the job will take: what is stated in the form, else what the slide has. */
export function misfits(mpp: Mpp | null, card: Card, { allowUpsampling }: { allowUpsampling: boolean }): Misfit[] {
  if (mpp === null) return [];
  const finest = Math.min(...mpp);
  const coarsest = Math.max(...mpp);
  const { range } = card;
  const isOutside =
    range !== null && (range[0] > finest * TOLERANCE || coarsest > range[1] * TOLERANCE);
  const found: Misfit[] = [];
  if (card.mpp !== null && coarsest > card.mpp * TOLERANCE) {
    const isEnlarged = allowUpsampling || (card.enlarges && (range === null || coarsest <= range[1] * TOLERANCE));
    found.push(
      isEnlarged
        ? {
            tone: 'warn',
            sentence: `It has ${mppWords(mpp)} µm per pixel and is enlarged to the ${card.mpp} that the model was trained at: detail that was not scanned is not there. Take the results with care.`,
          }
        : {
            tone: 'bad',
            sentence: `It has ${mppWords(mpp)} µm per pixel; the model needs ${card.mpp} or finer. Choose a model for coarser slides, or allow upsampling under “More options”.`,
          },
    );
  }
  if (isOutside) {
    found.push({
      tone: 'warn',
      sentence: `It has ${mppWords(mpp)} µm per pixel; the model was found to hold for ${range[0]} to ${range[1]}. The results may be off.`,
    });
  }
  return found;
}
