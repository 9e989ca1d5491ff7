"""The files of a slide: which ones, what each is, copies on this disk."""
