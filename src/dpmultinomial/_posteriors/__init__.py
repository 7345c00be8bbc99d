"""Posterior distributions of confidential values given privacy-protected releases, with one subpackage per type of
release.
"""
