/** What the user can do about a failed job, by the API's code (wsi/errors.py: FailReason). */
const ADVICE: Readonly<Record<string, string>> = {
  slide_rejected: 'Export the slide again from the scanner’s software, upload it and start a new job.',
  slide_changed: 'The slide’s file was replaced while it was analysed. Upload the slide again and start a new job.',
  slide_unreadable: 'The slide’s file cannot be reached or read. Check that it still exists, then try again or upload it again.',
  model_unavailable: 'Trying again will not help until the model is fixed. Tell your administrator its name and version, or choose another model.',
  model_failed: 'The model itself failed, and would fail again. Send the message above to its author, or choose another model.',
  poison_shard: 'Try again: finished parts are kept. If the same part fails again, the slide may be damaged there.',
  planning_failed: 'Try again. If it fails again, tell your administrator the code.',
  stitching_failed: 'Try again: finished tiles are kept.',
  undelivered: 'Try again: finished parts are kept. If it fails again, tell your administrator the code.',
};

const DEFAULT_ADVICE = 'Try again. If it fails again, tell your administrator the code.';

export const adviseOn = (reason: string | null) => ADVICE[reason ?? ''] ?? DEFAULT_ADVICE;
