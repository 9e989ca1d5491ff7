"""Writers of result files. Each takes an open binary file and writes the same bytes for the same plan and scores:
no dates, no random ids, no file names. What a run measured lies in summary.json under `run` only."""
