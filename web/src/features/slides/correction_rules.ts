import type { Slide } from './queries';

/** Reasons for a rejection that stating the scale or the image can resolve. */
const CORRECTABLE_REASONS: readonly string[] = [
  'no_mpp',
  'absurd_mpp',
  'mpp_conflict',
  'several_pictures',
  'optical_paths',
  'z_stack',
  'no_such_choice',
];

/** Whether the slide's files exist, and the reason for a rejection, if any, can be resolved. */
export function canBeCorrected({ status, reason, deidentify, deidentified }: Slide): boolean {
  if (status === 'READY') return true;
  const areFilesGone = deidentify && !deidentified;
  return status === 'REJECTED' && !areFilesGone && CORRECTABLE_REASONS.includes(reason ?? '');
}
