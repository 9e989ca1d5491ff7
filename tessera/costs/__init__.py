"""The monthly bill of an installation on AWS, and advice on paying in advance: arithmetic on the table of prices."""
