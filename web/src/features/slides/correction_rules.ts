import type { Slide } from './slides';

/** Why a slide was rejected that a statement of its scale or of the image can change. */
const REASONS: readonly string[] = [
  'no_mpp',
  'absurd_mpp',
  'mpp_conflict',
  'several_pictures',
  'optical_paths',
  'z_stack',
  'no_such_choice',
];

/** Its files are there, and what it was rejected for, if it was, can be stated. */
export function canBeCorrected({ status, reason, deidentify, deidentified }: Slide): boolean {
  if (status === 'READY') return true;
  const areFilesGone = deidentify && !deidentified;
  return status === 'REJECTED' && !areFilesGone && REASONS.includes(reason ?? '');
}
