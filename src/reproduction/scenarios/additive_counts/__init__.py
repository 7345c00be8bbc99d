"""Scenario for noisy counts that are released together with a noisy total, where the released counts sum to the
released total.
"""
