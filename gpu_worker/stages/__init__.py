"""The five stages of the pipeline. Each turns an iterator into an iterator of the next value and knows no other."""
