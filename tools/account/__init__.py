"""An AWS account before the first deployment and after the last: what it lacks, and what a destroyed one leaves."""
