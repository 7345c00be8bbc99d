"""What is wrong with a file, in words that are safe to show."""


class FileFault(ValueError):
    """A file breaks a rule of the reader: file, line, column and rule, and of a confidential file nothing else."""
