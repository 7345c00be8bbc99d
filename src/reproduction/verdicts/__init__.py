"""Compare the printed statements of the papers with the reproduced values. This package computes verdicts and joint
tests, checks quoted numbers, and writes the summary at the end of a run.
"""
