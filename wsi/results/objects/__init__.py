"""The files of objects that models find."""
