"""The arithmetic from slides a day to the sizes of all parts; docs/explanation/scaling.md describes it."""
