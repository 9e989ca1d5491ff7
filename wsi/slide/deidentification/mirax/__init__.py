"""De-identification of a MIRAX slide: list and index are written anew, and of the data files only tiles stay."""
