"""Printed statements beside ours: judgements, joint tests, quoted numbers, the closing summary."""
