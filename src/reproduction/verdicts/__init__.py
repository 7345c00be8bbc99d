"""Comparison of printed statements with ours: verdicts, joint tests, quoted numbers, the closing summary."""
