/**
 * Whether a slide fits a model, by the rules of wsi/planning/scale.py, so that the user learns it while choosing. The
 * API decides: its dry run refuses what cannot be planned.
 */
import { formatMpp } from '../../../api/inspection';
import type { ModelCard } from './model_card';

const TOLERANCE = 1.02; // as wsi/planning/scale.py: scanners write 0.499 for 0.5

export interface Misfit {
  tone: 'warn' | 'bad'; // bad: the API will refuse it
  sentence: string;
}

type Mpp = readonly [number, number]; // µm per pixel, across and down

/** Return how a slide fails to fit a model. `mpp`: the scale that the form states, else the slide's. */
export function findMisfits(mpp: Mpp | null, card: ModelCard, { allowUpsampling }: { allowUpsampling: boolean }): Misfit[] {
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
            sentence: `It has ${formatMpp(mpp)} µm per pixel and is upsampled to the ${card.mpp} that the model was trained at. Upsampling adds no detail, so treat the results with care.`,
          }
        : {
            tone: 'bad',
            sentence: `It has ${formatMpp(mpp)} µm per pixel; the model needs ${card.mpp} or finer. Choose a model for coarser slides, or allow upsampling under “More options”.`,
          },
    );
  }
  if (isOutside) {
    found.push({
      tone: 'warn',
      sentence: `It has ${formatMpp(mpp)} µm per pixel; the model was validated for ${range[0]} to ${range[1]}. The results may be unreliable.`,
    });
  }
  return found;
}
