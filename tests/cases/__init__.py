"""Problems that users of other tools reported in public, rebuilt as small files: the table is docs/reference/cases.md.

The right value of each was written down before our reader was tried, with its reason: the format's specification, or
what OpenSlide, tifffile or Bio-Formats do since they fixed it.
"""
