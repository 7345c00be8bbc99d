"""Compare printed statements with the reproduced values: verdicts, joint tests, quoted numbers, and the summary at the
end of a run.
"""
