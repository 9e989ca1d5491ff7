"""DICOM whole-slide series (VL Whole Slide Microscopy), read by ranges. Source: DICOM PS3.3 A.32.8, PS3.5 A.4."""
