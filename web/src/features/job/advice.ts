/** What one can do about a job that failed, by the API's code (wsi/errors.py: FailReason). */
const ADVICE: Readonly<Record<string, string>> = {
  slide_rejected: 'Export the slide anew from the scanner’s software, upload it and start a new job.',
  slide_changed: 'The slide’s file was replaced while it was analysed. Upload the slide again and start a new job.',
  slide_unreadable: 'The slide’s file can not be reached or read. See whether it is still there; then try again, or upload it anew.',
  model_unavailable: 'Trying again will hardly help until the model is put right: tell your administrator its name and version, or choose another model.',
  model_failed: 'The model itself failed, and would again: send the sentence above to who made it, or choose another model.',
  poison_shard: 'Try again: the parts that are done are kept. If the same part fails again, the slide may be damaged there.',
  planning_failed: 'Try again. If it fails again, tell your administrator the code.',
  stitching_failed: 'Try again: the tiles that are done are kept.',
};

const OTHERWISE = 'Try again. If it fails again, tell your administrator the code.';

export const adviceFor = (reason: string | null) => ADVICE[reason ?? ''] ?? OTHERWISE;
