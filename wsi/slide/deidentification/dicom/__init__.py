"""De-identification of DICOM by the Basic Application Level Confidentiality Profile (PS3.15, annex E)."""
