/** What a model gives for a tile, and what of it can be drawn as scores. */
import type { Schema } from '../../../api/routes';

export type OutputKind = Schema<'PartialResults'>['output'];

/** Whether tiles have scores; true while the kind is not known. */
export const hasScores = (output: OutputKind | null): boolean => output !== 'embedding' && output !== 'detection';
